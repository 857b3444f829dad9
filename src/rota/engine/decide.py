"""One pure function decides: `decide(snapshot, policy, now) -> Plan`.

    order ──► place ──► (evict) ──► (plan ahead) ──► bind, evict, or wait with a verdict
    who is    where:     whom to     when and where         and a place in the calendar
    next      filter,    evict       it will start
              score,
              gang

No clock, no randomness, no I/O: the same arguments give the same plan in every process.
"""

from __future__ import annotations

import dataclasses
import weakref
from bisect import bisect_left
from collections import Counter as Count
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rota.engine.calendar.ahead import Ahead
from rota.engine.calendar.fitting import may_fit
from rota.engine.calendar.gates import Gates
from rota.engine.calendar.timeline import Held
from rota.engine.compile import NETWORK, Compiler
from rota.engine.evicting.evict import Evictor
from rota.engine.evicting.preempt import Preempted
from rota.engine.explaining.idle import IdleCluster
from rota.engine.explaining.verdicts import Judged, NodeRefusal, RoomWhenIdle, verdict_of
from rota.engine.order import Cursor, Order, Run, order_of
from rota.engine.outside import OutsidePlugins
from rota.engine.placing.board import Board, Room
from rota.engine.placing.place import place, place_equal, put_best, would_place
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import Counter
from rota.engine.placing.work import Seat, Work
from rota.engine.plugin import Plugins
from rota.engine.scope import queue_of, queues_by_name, scheduler_for
from rota.engine.tenants.books import Books
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.plan import Binding, Plan, Waiting
from rota.model.policy import Policy, Promotion, QueuePolicy, QueueStrategy, SchedulerPolicy
from rota.model.reasons import (
    AwaitsPartner,
    BehindInStrictQueue,
    LimitReached,
    NoScheduler,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    WasPreempted,
)
from rota.model.verdict import Kind, Reason, Refusal, Unblock, Verdict
from rota.snapshot.nodes import ABSENT
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane

_ROUNDS = 64
"""How often a cycle looks for jobs that others have unblocked since they were asked."""
_ASKED_AGAIN = 256
"""How many lanes it then asks again in all, besides four times as many as there are. Whoever is left is asked
in the next cycle."""


def decide(snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins) -> Plan:
    cycle = Cycle(snapshot, policy, now_ms, plugins)
    cycle.run()
    return cycle.plan()


@dataclass(eq=False)
class Refused:
    """A lane from `first` on, why it waits, and what had happened by then."""

    cursor: Cursor
    first: int
    verdict: Verdict
    nodes: list[NodeRefusal]
    placed_before: int
    evicted_before: int
    planned_before: int
    lacked: tuple[Counter, ...] | None
    """The company that it may lack; None: nobody knows what it might be."""

    def __post_init__(self) -> None:
        self._changes = self._changes_now()

    def _changes_now(self) -> int:
        return sum(counter.changes for counter in self.lacked or ())

    @property
    def may_have_company(self) -> bool:
        """Whether anything was placed that it may have waited for."""
        return self.lacked is None or self._changes_now() > self._changes

    @property
    def jobs(self) -> list[Job]:
        return self.cursor.jobs[self.first :]


class Watch(Protocol):
    """Told about one job: how explanations look over the shoulder."""

    job: JobId

    def placing(self, work: Work, board: Board) -> None:
        """It is about to be placed, if it can be."""
        ...

    def room_made(self, work: Work, board: Board) -> None:
        """It couldn't be, but others have been evicted for it, and now it is."""
        ...


class Cycle:
    """The working state of one decision. Everything in it dies with the plan."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now_ms: int,
        plugins: Plugins,
        watch: Watch | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._policy = policy
        self._now_ms = now_ms
        self._filters = plugins.filters
        self._plugins = plugins
        self._idle: IdleCluster | None = None
        self._watch = watch
        self._outside = OutsidePlugins(plugins, snapshot)
        self._board = Board(snapshot)
        self._books = Books(snapshot, policy.fair_share, now_ms, policy.limits)
        self._has_quotas = self._books.quotas.lend
        self._compiler = Compiler(snapshot, self._board, policy, now_ms, plugins, self._outside)
        # Nobody it consists of holds it: it is gone with the plan, and with it copies of all columns, and not
        # with some later collection of garbage.
        this = weakref.proxy(self)
        self._compiler.network_of = lambda job_id: this._network_of(job_id)
        self._evictor = Evictor(
            snapshot,
            self._board,
            self._books,
            policy.fair_share.reclaim,
            now_ms,
            self._compiler.footprint_of_running,
            lambda template: this._promotion_of(template),
            plugins.evicts_elsewhere,
        )
        self._ahead = Ahead(
            snapshot, self._board, now_ms, self._compiler.footprint_of_running, self._evictor.evicted
        )
        self._gates = Gates(snapshot.calendar, now_ms)
        self._scheduler = SchedulerPolicy(name="")
        self._queue = QueuePolicy()
        self._cursors: dict[int, Cursor] = {}
        self._bindings: list[Binding] = []
        self._refused: dict[int, Refused] = {}
        self._verdicts: dict[tuple[Signature, int, int, tuple[int, int]], Judged] = {}
        """By what was asked for, and how much was bound and evicted by then."""
        self._in_part: dict[JobId, Verdict] = {}
        """Jobs of which some tasks start and others wait, and why these do."""
        self._started: set[JobId] = set()
        """Jobs that got something in this cycle."""

    def _promotion_of(self, template: JobTemplate) -> Promotion:
        scheduler = scheduler_for(template, self._policy.schedulers)
        return scheduler.promotion if scheduler else Promotion()

    def run(self) -> None:
        self._evictor.by_taints()
        self._evictor.by_maintenance()
        if self._evictor.evictions:
            self._ahead.evicted()
        queues = self._lanes_by_queue()
        self._keep_promises(queues)
        for scheduler, queue, lanes in queues:
            self._enter(scheduler, queue)
            self._serve(lanes)
        # Each job may wait for the one behind it: to ask until nothing changes would take the square of them.
        left = _ASKED_AGAIN + 4 * sum(len(lanes) for _, _, lanes in queues)
        for _ in range(_ROUNDS):
            asked_again = False
            for scheduler, queue, lanes in queues:
                if again := self._unblocked(lanes, queue):
                    asked_again = True
                    left -= len(again)
                    self._enter(scheduler, queue)
                    self._serve(again)
            if not asked_again or left <= 0:
                break
        self._outside.tell(self._bindings, self._scheduled)

    def _scheduled(self, job_id: JobId) -> tuple[Job, str]:
        job = self.snapshot.jobs[job_id].job
        scheduler = scheduler_for(job.template, self._policy.schedulers)
        return job, scheduler.name if scheduler else ""

    def plan(self) -> Plan:
        lost = self._evictor.lost
        waiting = [Waiting((job,), verdict) for job, verdict in (self._in_part | lost).items()]
        for refused in self._refused.values():
            jobs = tuple([job.id for job in refused.jobs])
            if lost:
                jobs = tuple(job for job in jobs if job not in lost)
            waiting.append(Waiting(jobs, refused.verdict))
        waiting = sorted((entry for entry in waiting if entry.jobs), key=lambda entry: entry.jobs[0])
        return Plan(
            tuple(self._bindings),
            tuple(self._evictor.evictions),
            tuple(waiting),
            tuple(self._outside.faults),
            self._ahead.starts(lost),
        )

    def refusal_of(self, job_id: JobId) -> Refused | None:
        """Why a job waits that wasn't evicted in this cycle."""
        for refused in self._refused.values():
            if any(job.id == job_id for job in refused.jobs):
                return refused
        return None

    # -- who is served, in which order

    def _lanes_by_queue(self) -> list[tuple[SchedulerPolicy, QueuePolicy, list[Lane]]]:
        schedulers = self._policy.schedulers
        by_queue: dict[tuple[int, str], list[Lane]] = {}
        for lane in self.snapshot.waiting.lanes():
            scheduler = scheduler_for(lane.key.template, schedulers)
            if scheduler is None:
                template = lane.key.template
                reason = NoScheduler(template.scheduler, template.namespace)
                self._refuse(self._cursor(lane), _verdict_of(reason))
            else:
                number = schedulers.index(scheduler)
                by_queue.setdefault((number, lane.key.template.queue), []).append(lane)
        known = {number: queues_by_name(schedulers[number]) for number in {number for number, _ in by_queue}}
        found = [(number, queue_of(name, known[number]), lanes) for (number, name), lanes in by_queue.items()]
        found.sort(key=lambda entry: (entry[0], entry[1].order, entry[1].name))
        return [(schedulers[number], queue, lanes) for number, queue, lanes in found]

    def _enter(self, scheduler: SchedulerPolicy, queue: QueuePolicy) -> None:
        """What is decided from here on is decided for this queue of this scheduler."""
        self._scheduler, self._queue = scheduler, queue
        self._compiler.enter(scheduler, queue)
        self._ahead.enter(scheduler.name)
        self._evictor.enter(scheduler)

    def _serve(self, lanes: Iterable[Lane]) -> None:
        order = order_of([self._cursor(lane) for lane in lanes], self._queue, self._books.shares)
        while (run := order.next()) is not None:
            served = 0 if self._is_refused(run) else self._place_run(run)
            if served:
                order.served(run, served)
                continue
            first = run.head
            if self._plan_ahead(run):
                order.served(run, 1)
            else:
                order.drop(run)
            if self._queue.strict and not self._holds_up_nobody(run.cursor.lane):
                self._hold_behind(first, order)

    def _holds_up_nobody(self, lane: Lane) -> bool:
        """Nobody waits behind who will never start, or a queue would be stuck for ever; nor behind who is
        over a limit of their own."""
        verdict = self._refused[lane.number].verdict
        own_limit = any(isinstance(refusal.reason, LimitReached) for refusal in verdict.refusals)
        return verdict.kind is Kind.NEVER or own_limit

    def _is_refused(self, run: Run) -> bool:
        """Whether one just like it was refused before, and nobody has made room since."""
        refused = self._refused.get(run.cursor.lane.number)
        return refused is not None and refused.evicted_before == len(self._evictor.evictions)

    def _cursor(self, lane: Lane) -> Cursor:
        """How far this cycle has come in a lane; kept, since a lane may be asked again."""
        cursor = self._cursors.get(lane.number)
        if cursor is None:
            by_priority = not (self._queue.strategy is QueueStrategy.FIFO or self._queue.interactive)
            jobs, start = lane.view()
            size = 0
            if self._queue.strategy is QueueStrategy.SMALLEST and not self._queue.interactive:
                size = self._ahead.size_of(lane.key.template, self._queue)
            cursor = self._cursors[lane.number] = Cursor(
                lane, jobs, start, self._now_ms, self._scheduler.promotion, by_priority, size
            )
            self._shut_out(cursor)
        return cursor

    def _shut_out(self, cursor: Cursor) -> None:
        """Jobs that came after their queue was closed leave the lane, of which they are the last."""
        since_ms, lane = self._gates.closed_since_ms(cursor.lane.key.template.queue), cursor.lane
        if since_ms is None or lane.key.job:
            return
        first = bisect_left(cursor.jobs, since_ms, lo=cursor.at, key=lambda job: job.submitted_ms)
        reason = self._gates.closed_to(cursor.jobs[first]) if first < len(cursor.jobs) else None
        if reason is not None:
            late = dataclasses.replace(cursor, at=first)
            # Under a number that no lane has: the lane's own refusal is about those who came before.
            self._refused[~lane.number] = self._refused_now(late, first, _verdict_of(reason))
            cursor.jobs = cursor.jobs[:first]

    def _hold_behind(self, first: Job, order: Order) -> None:
        """Nobody overtakes in a strict queue: everyone behind the first that can't start waits."""
        verdict = _verdict_of(BehindInStrictQueue(first.id))
        is_known = self._ahead.start_of(first.id) is not None
        while (run := order.next()) is not None:
            if not self._is_refused(run):
                self._refuse(run.cursor, verdict)
            # Nor is anybody told a start behind one of which nobody knows when it will.
            is_known = is_known and self._plan_ahead(run)
            if is_known:
                order.served(run, 1)
            else:
                order.drop(run)

    def _unblocked(self, lanes: list[Lane], queue: QueuePolicy) -> list[Lane]:
        """Lanes that were refused before something happened that could let them start."""
        found = []
        for lane in lanes:
            refused = self._refused.get(lane.number)
            if refused is None or not refused.jobs:
                continue
            placed = len(self._bindings) > refused.placed_before
            freed = len(self._evictor.evictions) > refused.evicted_before
            if not (placed or freed or lane.key.template.connect_to):
                continue
            events = refused.verdict.unblocked_by
            partner = JobId(lane.key.template.connect_to)
            lacks_partner = partner and not self._is_placed(partner)
            # Who minds others may lack their company behind a first reason that says something else.
            minds = not lacks_partner and (Unblock.TASK_PLACED in events or _minds_others(lane.key.template))
            partner_planned = (
                self._ahead.given > refused.planned_before
                and self._ahead.start_of(partner) is not None
                and self._ahead.start_of(refused.jobs[0].id) is None
            )
            if (
                (placed and minds and refused.may_have_company)
                or (freed and Unblock.TASK_ENDED in events)
                or partner_planned
            ):
                found.append(lane)
        if found and queue.strict:
            # Nobody overtakes here either: all are asked again, in their order.
            found = [lane for lane in lanes if lane.number in self._refused]
        for lane in found:
            refused = self._refused.pop(lane.number)
            self._ahead.withdraw(refused.jobs)
            refused.cursor.at = refused.first
        return found

    # -- placing

    def _place_run(self, run: Run) -> int:
        """Places jobs of the run, and says how many. None placed: the refusal is on record."""
        job, lane = run.head, run.cursor.lane
        self._outside.current = job.id
        reason = self._not_yet(job)
        if reason is not None:
            self._refuse(run.cursor, _verdict_of(reason))
            return 0
        work = self._compiler.work(lane, job)
        fits = self._ahead.is_open and may_fit(work, self._board.free)
        if not self._ahead.is_open:
            placed = self._place_in_run(run, work)
        elif fits or self._is_watched(run):
            placed = self._place_beside(self._ahead.kept_back(job.template, self._queue), run, work)
        else:
            placed = 0
        if placed or self._place_by_evicting(run, work):
            return max(placed, 1)
        if fits and (reason := self._in_the_way(job, work)):
            self._refuse(run.cursor, _verdict_of(reason), work=work)
            return 0

        def room_when_idle() -> int:
            return self._room_when_idle(lane, job)

        quota = self._books.refusal(job.template, work)
        verdict, nodes = self._judged(work, room_when_idle)
        if quota is not None and (quota.kind is Kind.NEVER or verdict.kind is not Kind.NEVER):
            verdict, nodes = _verdict_of(quota), []
        self._refuse(run.cursor, verdict, nodes, work)
        return 0

    def _room_when_idle(self, lane: Lane, job: Job) -> int:
        """Kept from cycle to cycle, like all that follows from the nodes alone: a job that waits is asked
        about in each."""
        nodes = self.snapshot.nodes
        key = "idle", lane.key.template, lane.key.retries, self._scheduler.name, self._queue
        kept: tuple[Policy, Plugins, int] | None = nodes.derived.get(key)
        if kept is not None and kept[0] is self._policy and kept[1].filters == self._plugins.filters:
            return kept[2]
        if self._idle is None:
            self._idle = IdleCluster(self.snapshot, self._policy, self._now_ms, self._plugins)
        room = self._idle.room_for(lane.key, job, self._scheduler, self._queue)
        if not nodes.has_passing_time:
            nodes.keep(key, (self._policy, self._plugins, room))
        return room

    def _judged(self, work: Work, room_when_idle: RoomWhenIdle) -> Judged:
        """The verdict on work that can't start; kept for others that ask for the same until anything
        is bound or evicted."""
        if len(work.signatures) > 1 or work.topology or work.signatures[0].needs_turns:
            return self._verdict(work, room_when_idle)
        so_far = len(self._bindings), len(self._evictor.evictions)
        key = work.signatures[0], work.counts[0], work.needed, so_far
        known = self._verdicts.get(key)
        if known is None:
            known = self._verdict(work, room_when_idle)
            self._verdicts[key] = known
        return known

    def _verdict(self, work: Work, room_when_idle: RoomWhenIdle) -> Judged:
        return verdict_of(work, self._board, self._filters, room_when_idle, self._plugins.refusal_order)

    def _place_beside(self, kept: Room | None, run: Run, work: Work) -> int:
        """Places jobs of the run in what is left beside something that must be left alone."""
        if kept is None:
            return self._place_in_run(run, work)
        if not may_fit(work, self._board.free - kept.free) and not self._is_watched(run):
            return 0
        with self._board.without(kept):
            return self._place_in_run(run, work)

    def _place_in_run(self, run: Run, work: Work) -> int:
        if work.is_single and not self._has_quotas and not (self._watch and self._is_watched(run)):
            take = work.signatures[0].demand.take
            most = self._books.singles(run.head.template, take, run.length)
            return self._place_singles(run, work.signatures[0], most) if most else 0
        return int(self._place_one(run, work))

    def _not_yet(self, job: Job) -> Reason | None:
        """What keeps the job back whatever room there is."""
        if job.id in self._evictor.lost:
            return WasPreempted()
        if closed := self._gates.closed_to(job):
            return closed
        if self._books.caps.of_jobs and not self._is_placed(job.id):
            _, limit = self._books.caps.ask_jobs(job.template)
            if limit is not None:
                return limit
        partner = JobId(job.template.connect_to)
        return AwaitsPartner(partner) if partner and not self._is_placed(partner) else None

    def _is_placed(self, job_id: JobId) -> bool:
        record = self.snapshot.jobs.get(job_id)
        placements = () if record is None else record.placements
        evicted = self._evictor.evicted
        return job_id in self._started or any((job_id, one.rank) not in evicted for one in placements)

    def _network_of(self, job_id: JobId) -> str:
        """Where a job that others connect to can be reached; empty: from everywhere."""
        nodes: list[NodeName] = [one.node for one in self._bindings if one.job == job_id]
        record = self.snapshot.jobs.get(job_id)
        if record is not None:
            nodes += [
                one.node for one in record.placements if (job_id, one.rank) not in self._evictor.evicted
            ]
        known = self.snapshot.nodes
        labels = known.label(NETWORK)
        positions = [
            known.position[node] for node in nodes or self._ahead.nodes_of(job_id) if node in known.position
        ]
        codes = {int(labels.codes[position]) for position in positions} - {ABSENT}
        return labels.values[min(codes)] if codes else ""

    def _is_watched(self, run: Run) -> bool:
        watch = self._watch
        return watch is not None and any(job.id == watch.job for job in run.jobs(run.length))

    def _place_singles(self, run: Run, signature: Signature, most: int) -> int:
        """Jobs of one task each, as many of the run as there is room for, and at most so many."""
        names = self.snapshot.nodes.names
        if most == 1:
            at = put_best(signature, self._board)
            if at is None:
                return 0
            job = run.head
            self._bindings.append(Binding(job.id, 0, names[at[0]], at[1]))
            self._ahead.started(job.template, [Held(at[0], signature.demand, at[1])])
            self._started.add(job.id)
            self._books.charge(job.template, signature.demand.take, 1)
            self._books.caps.started(job.template)
            self._spare_partner(job.template)
            return 1
        before = self._board.checkpoint()
        positions = place_equal(signature, self._board, most)
        devices = self._board.devices_since(before)
        jobs = run.jobs(len(positions))
        self._bindings += [
            Binding(job.id, 0, names[at], got) for job, at, got in zip(jobs, positions, devices, strict=True)
        ]
        self._started.update([job.id for job in jobs])
        if jobs:
            self._ahead.started_many(run.head.template, signature.demand, positions, devices)
            self._books.charge(run.head.template, signature.demand.take, len(jobs))
            self._books.caps.started(run.head.template, len(jobs))
            self._spare_partner(run.head.template)
        return len(jobs)

    def _spare_partner(self, template: JobTemplate) -> None:
        """Nobody evicts a job in the same cycle in which its partner starts."""
        if template.connect_to:
            self._evictor.untouchable.add(JobId(template.connect_to))

    def _place_one(self, run: Run, work: Work) -> bool:
        if self._watch is not None and run.head.id == self._watch.job:
            self._watch.placing(work, self._board)
        allowed = self._books.allowed(run.head.template, work)
        seats = None if allowed is None else place(allowed, self._board)
        if seats is None:
            return False
        self._bind(run, work, seats)
        return True

    def _verdict_of_rest(self, run: Run, work: Work, seats: list[Seat]) -> Verdict:
        """Why the rest of a job waits of which enough has started."""
        placed = Count(seat.group for seat in seats)
        left = tuple(count - placed[group] for group, count in enumerate(work.counts))
        rest = Work(work.signatures, left, 1, work.topology, tuple(seat.position for seat in seats))
        quota = self._books.refusal(run.head.template, rest)
        if quota is not None:
            return _verdict_of(quota)
        return self._verdict(rest, lambda: work.total)[0]

    def _place_by_evicting(self, run: Run, work: Work) -> bool:
        template, checkpoint = run.head.template, self._board.checkpoint()
        if template.reservation or not self._evictor.may_make_room(template, run.priority):
            return False
        with self._board.without(self._ahead.kept_from_evictors(template)):
            fits = self._ahead.is_open and self._fits_but_for_plans(self._books.allowed(template, work))
            preempted = None if fits else self._evictor.make_room(run.head, run.priority, work)
        if preempted is None:
            return False
        if self._would_delay(template, work, preempted):
            self._board.rollback(checkpoint)
            return False
        causes = [self._evictor.cause_of(run.head, run.priority, unit) for unit in preempted.victims]
        for unit, cause in zip(preempted.victims, causes, strict=True):
            self._evictor.record(unit.tasks, cause, run.head.id)
        self._ahead.evicted()
        if self._watch is not None and run.head.id == self._watch.job:
            self._show_room_made(work, preempted.seats)
        self._bind(run, work, preempted.seats)
        return True

    def _fits_but_for_plans(self, work: Work | None) -> bool:
        """Whether nobody has to go for it: it waits because somebody before it will need the room."""
        if work is None or not may_fit(work, self._board.free):
            return False
        return would_place(work, self._board) is not None

    def _would_delay(self, template: JobTemplate, work: Work, preempted: Preempted) -> bool:
        """Whether somebody before it waits for the end of those that would go for it now."""
        tasks = [self.snapshot.running.tasks[task] for unit in preempted.victims for task in unit.tasks]
        gone = {(task.job.id, task.placement.rank) for task in tasks}
        held = _held(work, preempted.seats)
        return self._ahead.would_delay(template, held, gone, self._queue)

    def _show_room_made(self, work: Work, seats: list[Seat]) -> None:
        """Lets the watch see the board with the victims gone and the job not yet there."""
        checkpoint = self._board.checkpoint()
        for seat in seats:
            signature = work.signatures[seat.group]
            self._board.lift(seat.position, signature.demand, signature.footprint, seat.devices)
        if self._watch is not None:
            self._watch.room_made(work, self._board)
        self._board.rollback(checkpoint)

    def _bind(self, run: Run, work: Work, seats: list[Seat]) -> None:
        job, key = run.head, run.cursor.lane.key
        names = self.snapshot.nodes.names
        ranks = work.ranks_by_kind(key)
        self._bindings += [
            Binding(job.id, next(ranks[seat.group]), names[seat.position], seat.devices) for seat in seats
        ]
        placed = Count(seat.group for seat in seats)
        for group, signature in enumerate(work.signatures):
            self._books.charge(job.template, signature.demand.take, placed[group])
        if self._books.caps.of_jobs and not self._is_placed(job.id):
            self._books.caps.started(job.template)
        self._started.add(job.id)
        self._ahead.started(job.template, _held(work, seats))
        if key.placed:
            self._evictor.untouchable.add(job.id)
        self._spare_partner(job.template)
        if len(seats) < work.total:
            self._in_part[job.id] = self._verdict_of_rest(run, work, seats)

    def _refuse(
        self,
        cursor: Cursor,
        verdict: Verdict,
        nodes: list[NodeRefusal] | None = None,
        work: Work | None = None,
    ) -> None:
        known = self._refused.get(cursor.lane.number)
        first = cursor.at if known is None else known.first
        self._refused[cursor.lane.number] = self._refused_now(cursor, first, verdict, nodes, work)

    def _refused_now(
        self,
        cursor: Cursor,
        first: int,
        verdict: Verdict,
        nodes: list[NodeRefusal] | None = None,
        work: Work | None = None,
    ) -> Refused:
        so_far = len(self._bindings), len(self._evictor.evictions), self._ahead.given
        lacked: tuple[Counter, ...] | None = None
        # What a plugin from outside waits for, nobody knows; and a partner is no matter of counters.
        if (
            work is not None
            and not self._outside.of(self._scheduler)
            and not cursor.lane.key.template.connect_to
        ):
            lacked = tuple(one for kind in work.signatures for one in kind.domain_rules.opened_by())
        return Refused(cursor, first, verdict, nodes or [], *so_far, lacked)

    # -- when it can't be now

    def _plan_ahead(self, run: Run) -> bool:
        """Gives a job that was refused a place in the calendar, if its queue has such."""
        refused, lane = self._refused[run.cursor.lane.number], run.cursor.lane
        if refused.verdict.kind is Kind.NEVER or not self._ahead.may_plan(self._queue):
            return False
        job = run.head
        not_before_ms = self._earliest(job, refused.verdict)
        if not_before_ms is None:
            return False
        work = self._compiler.work(lane, job)
        if self._queue.interactive and not self._may_hold(job.template, work):
            return False
        if not self._ahead.plan(job, lane.key, work, self._queue, not_before_ms):
            return False
        for signature, count in zip(work.signatures, work.counts, strict=True):
            # So that the calendar is shared out as fairly as the nodes are.
            self._books.shares.charge(job.template, signature.demand.take, count)
        if self._queue.interactive:
            self._hold_for(job.template, work)
        return True

    def _may_hold(self, template: JobTemplate, work: Work) -> bool:
        caps = self._books.caps
        return not caps.any or (
            caps.ask_jobs(template)[1] is None and self._books.allowed(template, work) is not None
        )

    def _hold_for(self, template: JobTemplate, work: Work) -> None:
        """What is promised counts for the limits as if it were held: a promise is kept whatever they say."""
        if self._books.caps.any:
            self._books.caps.started(template)
            for signature, count in zip(work.signatures, work.counts, strict=True):
                self._books.caps.charge(template, signature.demand.take, count)

    def _earliest(self, job: Job, verdict: Verdict) -> int | None:
        """From when on to look for a place; None: that can't be told."""
        reason = verdict.refusals[0].reason if verdict.refusals else None
        match reason:
            case QueuePaused() | QueueClosed() | QuotaReached() | LimitReached() | WasPreempted():
                return None
            case BehindInStrictQueue():
                earliest_ms = self._ahead.last_start_ms
            case _:
                earliest_ms = self._now_ms
        partner = JobId(job.template.connect_to)
        if partner and not self._is_placed(partner):
            # Who can still be moved is nobody to make a promise by.
            is_safe = self._ahead.is_promised(partner) or not self._queue.interactive
            partner_ms = self._ahead.start_of(partner) if is_safe else None
            if partner_ms is None:
                return None
            earliest_ms = max(earliest_ms, partner_ms)
        return max(earliest_ms, job.start_after_ms)

    def _in_the_way(self, job: Job, work: Work) -> Reason | None:
        """What of the calendar keeps the job from starting, if nothing else does."""
        allowed = self._books.allowed(job.template, work)
        seats = None if allowed is None else would_place(allowed, self._board)
        return None if seats is None else self._ahead.in_the_way(job.template, seats, self._queue)

    def _keep_promises(self, queues: list[tuple[SchedulerPolicy, QueuePolicy, list[Lane]]]) -> None:
        """Jobs that were promised a start come first: they start now if it is time, and else what
        they were promised is left alone. A promise whose nodes are gone is given anew."""
        promised = [
            (record, lane, scheduler, queue)
            for scheduler, queue, lanes in queues
            for lane in lanes
            if lane.key.job
            and lane.key.job not in self._evictor.lost
            and (record := self.snapshot.jobs[lane.key.job]).promise
        ]
        held = []
        for record, lane, scheduler, queue in sorted(promised, key=lambda one: _promised_order(one[0])):
            self._enter(scheduler, queue)
            if self._ahead.promise(record, self._compiler.work(lane, record.job)):
                held.append((record, lane, scheduler, queue))
        kept = {lane.number for _, lane, _, _ in held}
        for _, _, lanes in queues:
            lanes[:] = [lane for lane in lanes if lane.number not in kept]
        for record, lane, scheduler, queue in held:
            self._enter(scheduler, queue)
            work = self._compiler.work(lane, record.job)
            seats = self._ahead.due(record, work)
            if seats is not None:
                self._bind(Run(self._cursor(lane), 1), work, seats)
            else:
                start_ms, _ = _promised_order(record)
                self._hold_for(record.job.template, work)
                self._refuse(self._cursor(lane), _verdict_of(PromisedLater(start_ms)))


def _held(work: Work, seats: Iterable[Seat]) -> list[Held]:
    return [Held(seat.position, work.signatures[seat.group].demand, seat.devices) for seat in seats]


def _promised_order(record: JobRecord) -> tuple[int, JobId]:
    assert record.promise is not None
    return record.promise.start_ms, record.job.id


def _minds_others(template: JobTemplate) -> bool:
    return any(group.spec.job_affinity or group.spec.spread for group in template.groups)


def _verdict_of(reason: Reason) -> Verdict:
    """A verdict that isn't about nodes."""
    return Verdict(reason.kind, (Refusal(reason, 0),))
