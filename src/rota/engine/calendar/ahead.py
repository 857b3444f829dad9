"""A cycle's dealings with the calendar: which of it a job must leave alone, and who starts later.

The agenda is made only when something is fixed in the calendar or somebody has to wait for an end that
is known: a cycle that needs neither pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from rota.engine.calendar.agenda import Agenda
from rota.engine.calendar.durations import limit_ms
from rota.engine.calendar.gates import latest_start_ms
from rota.engine.calendar.lines import Slot
from rota.engine.calendar.running import Running, running_without
from rota.engine.calendar.starts import Starts
from rota.engine.calendar.timeline import FOREVER_MS, Holding
from rota.engine.placing.board import Board, Devices, Room
from rota.engine.placing.topology import Footprint
from rota.engine.placing.work import Seat, Work
from rota.engine.scope import Turn
from rota.model.calendar import PlannedStart
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement
from rota.model.policy import Backfill, Durations, QueuePolicy
from rota.model.verdict import Reason
from rota.snapshot.demand import Demand
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import LaneKey


class Ahead:
    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        now_ms: int,
        footprint: Callable[[int], Footprint],
        evicted: Collection[tuple[JobId, int]],
    ) -> None:
        """`evicted`: tasks that this cycle evicts, as it goes on."""
        self._snapshot = snapshot
        self._board = board
        self._now_ms = now_ms
        self._footprint = footprint
        self._evicted = evicted
        self.starts = Starts(now_ms)
        self._started: list[tuple[JobTemplate, list[Holding]]] = []
        """Before there was an agenda."""
        self._knows_ends = any(template.time_limit_ms is not None for template, _ in snapshot.running.kinds)
        self._agenda: Agenda | None = None
        calendar = snapshot.calendar
        if calendar.maintenance or calendar.reservations:
            self._open()

    def _open(self) -> Agenda:
        if self._agenda is None:
            self._agenda = Agenda(self._snapshot, self._board, self._now_ms)
            self._agenda.lines.set_running(self._running())
            for template, held in self._started:
                self._agenda.lines.start(template, held)
        return self._agenda

    def _running(self, gone: Collection[tuple[JobId, int]] = ()) -> Running:
        return running_without({*self._evicted, *gone}, self._snapshot, self._footprint)

    @property
    def is_open(self) -> bool:
        """Whether anything in the calendar may stand in a job's way."""
        return self._agenda is not None

    # -- what happens in the cycle

    def started(self, template: JobTemplate, held: Sequence[Holding]) -> None:
        """Tasks of a job are bound; the board has been told."""
        if self._agenda is not None:
            self._agenda.lines.start(template, list(held))
        elif template.time_limit_ms is not None:
            self._knows_ends = True
            self._started.append((template, list(held)))

    def started_many(
        self, template: JobTemplate, demand: Demand, positions: Sequence[int], devices: Sequence[Devices]
    ) -> None:
        """The same for many equal tasks."""
        if self._agenda is not None or template.time_limit_ms is not None:
            pairs = zip(positions, devices, strict=True)
            self.started(template, [Holding(position, demand, got) for position, got in pairs])

    def evicted(self) -> None:
        """Some of what ran is gone."""
        if self._agenda is not None:
            self._agenda.lines.set_running(self._running())

    # -- starting now

    def kept_back(self, template: JobTemplate, queue: QueuePolicy) -> Room | None:
        """What a job must leave alone if it starts now."""
        if self._agenda is None:
            return None
        return self._agenda.kept_back(template, queue.durations, past_plans=queue.interactive)

    def kept_from_evictors(self, template: JobTemplate) -> Room | None:
        return None if self._agenda is None else self._agenda.kept_from_evictors(template)

    def would_delay(
        self,
        template: JobTemplate,
        held: Sequence[Holding],
        gone: Collection[tuple[JobId, int]],
        queue: QueuePolicy,
    ) -> bool:
        """Whether a job that was just put there, in place of what would be gone, delays anybody who was
        given a place before."""
        if self._agenda is None or queue.interactive:
            return False
        return self._agenda.would_delay(template, held, self._running(gone), queue.durations)

    def in_the_way(self, template: JobTemplate, seats: Sequence[Seat], queue: QueuePolicy) -> Reason:
        return self._open().in_the_way(template, seats, queue.durations)

    # -- promises

    def promise(self, record: JobRecord, work: Work) -> bool:
        """Holds what was promised. False: it can't be, because nodes are gone or announced away."""
        agenda, promise = self._open(), record.promise
        assert promise is not None
        seats = _promised_seats(record, work, self._snapshot.nodes.position)
        if len(seats) < len(promise.placements) or len(seats) < work.needed:
            return False
        if not all(work.signatures[seat.group].static_mask[seat.position] for seat in seats):
            return False
        if not agenda.is_open(record):
            return False
        agenda.lines.add_promise(record)
        self.starts.hold(PlannedStart(record.job.id, promise.start_ms, promise.placements, promised=True))
        return True

    def due(self, record: JobRecord, work: Work, may_be_early: Callable[[], bool]) -> list[Seat] | None:
        """Puts a promised job on the board if it is time, or if it may start before and nothing that is
        fixed is in its way; None: not yet, or somebody overstays."""
        assert record.promise is not None
        is_early = record.promise.start_ms > self._now_ms
        seats = _promised_seats(record, work, self._snapshot.nodes.position)
        if not all(_has_seat(self._board, work, seat, by_rules=False) for seat in seats):
            return None
        if is_early and not (may_be_early() and self._open().is_free_before(record)):
            return None
        checkpoint = self._board.checkpoint()
        for seat in seats:
            # By rules: whoever a task must keep away from is gone when it was promised to start, not before.
            if not _has_seat(self._board, work, seat, by_rules=is_early):
                self._board.rollback(checkpoint)
                return None
            signature = work.signatures[seat.group]
            self._board.put(seat.position, signature.demand, signature.footprint, seat.devices)
        self._open().lines.drop_promise(record.job.id)
        self.starts.drop(record.job.id)
        return seats

    # -- starting later

    def may_plan(self, turn: Turn) -> bool:
        """Whether one more job of the queue may get a place, and one could be found at all."""
        queue = turn.queue
        if queue.interactive:
            return True
        learns_ends = queue.durations is Durations.LEARNT and len(self._snapshot.running) > 0
        if not (self._knows_ends or learns_ends or self._agenda is not None):
            return False
        depth = {Backfill.NONE: 0, Backfill.EASY: 1, Backfill.CONSERVATIVE: queue.depth}
        return self.starts.count(turn) < depth[queue.backfill]

    def plan(self, turn: Turn, job: Job, key: LaneKey, work: Work, not_before_ms: int) -> bool:
        """Gives the job the earliest place that the calendar has for it, if there is one."""
        queue = turn.queue
        slot = self.find(job, work, queue, not_before_ms)
        if slot is None:
            return False
        is_fixed = queue.interactive or bool(job.template.reservation)
        self._open().lines.plan(job, work, slot, is_fixed=is_fixed)
        placements = self._placements(key, work, slot)
        self.starts.give(PlannedStart(job.id, slot.start_ms, placements, promised=queue.interactive), turn)
        return True

    def find(self, job: Job, work: Work, queue: QueuePolicy, not_before_ms: int) -> Slot | None:
        """The earliest place that the calendar has for the job."""
        template, agenda = job.template, self._open()
        latest_ms = latest_start_ms(job)
        latest = [] if latest_ms is None else [latest_ms]
        if template.connect_to:
            partner_end_ms = self._partner_end_ms(JobId(template.connect_to))
            if partner_end_ms is None:
                return None
            latest.append(partner_end_ms - 1)
        return agenda.find(
            work,
            template,
            queue.durations,
            not_before_ms=not_before_ms,
            latest_ms=min(latest, default=FOREVER_MS),
            is_fixed=queue.interactive,
        )

    def _partner_end_ms(self, partner: JobId) -> int | None:
        """Until when a job that is planned, runs, or starts in this cycle may be there; None: it is gone."""
        slot, record = self._open().lines.slot_of(partner), self._snapshot.jobs.get(partner)
        if slot is not None or record is None:
            return slot and slot[1]
        started_ms = max((one.started_ms for one in record.placements), default=self._now_ms)
        return started_ms + limit_ms(record.job.template)

    def _placements(self, key: LaneKey, work: Work, slot: Slot) -> tuple[Placement, ...]:
        ranks = work.ranks_by_kind(key)
        names = self._snapshot.nodes.names
        return tuple(
            Placement(next(ranks[seat.group]), names[seat.position], slot.start_ms, seat.devices)
            for seat in slot.seats
        )

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """These are asked anew."""
        planned = [job for job in jobs if job.id in self.starts]
        if planned:
            self._open().lines.withdraw(planned)
            for job in planned:
                self.starts.drop(job.id)

    def make_way(self, job: Job) -> None:
        """Withdraws a waiting job's place, even if promised, and those that others were merely given
        behind it: these will follow whatever becomes of it."""
        if job.id not in self.starts:
            return
        behind = [one for one in self.starts.from_on(job.id) if not one.promised]
        gone = {job.id, *(one.job for one in behind)}
        self._open().lines.withdraw(self._snapshot.jobs[job_id].job for job_id in gone)
        if self._snapshot.jobs[job.id].promise is not None:
            self._open().lines.drop_promise(job.id)
        for job_id in gone:
            self.starts.drop(job_id)


def _promised_seats(record: JobRecord, work: Work, position: Mapping[NodeName, int]) -> list[Seat]:
    assert record.promise is not None
    return [
        Seat(work.kind_of_group[record.job.group_of(one.rank)], position[one.node], one.gpu_devices)
        for one in record.promise.placements
        if one.node in position
    ]


def _has_seat(board: Board, work: Work, seat: Seat, *, by_rules: bool) -> bool:
    """Whether a seat is free now; by rules: and allowed, as things are."""
    signature = work.signatures[seat.group]
    share, free = signature.demand.gpu.share_milli, board.gpu_free[seat.position]
    if not board.fits(seat.position, signature.demand) or any(free[one] < share for one in seat.devices):
        return False
    return not (by_rules and signature.needs_turns) or signature.feasible_scores()[seat.position] >= 0
