"""The entries of the calendar while a plan is made, and the lines that tell what is free when.

Two kinds of lines: the *fixed* line of an account goes by time limits and holds what must not break:
maintenance, reservations, promised starts. Where there are reservations, everybody is bound by the ground
under all accounts, too: what accounts don't divide, and who is where by an older right. The *planned* line
goes by the run times that a queue plans with and holds the planned starts of waiting batch jobs as well,
which only those behind them have to respect. Lines are made when first asked for, and anew after evictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rota.engine.calendar.durations import Lengths, limit_ms
from rota.engine.calendar.entries import (
    EVERYBODY,
    GROUND,
    account_room,
    fixed_entries,
    promised_end_ms,
    promised_seats,
)
from rota.engine.calendar.running import Running, running_without
from rota.engine.calendar.timeline import FOREVER_MS, Holding, Timeline
from rota.engine.placing.board import Board
from rota.engine.placing.topology import NO_FOOTPRINT
from rota.engine.placing.work import Seat, Work
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.policy import Durations
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.state import Snapshot


@dataclass(frozen=True, eq=False)
class Slot:
    """A place in the calendar."""

    start_ms: int
    seats: Sequence[Seat]


@dataclass(frozen=True, eq=False)
class Booking:
    """An entry for a job: one that starts in this cycle, or will."""

    template: JobTemplate
    held: list[Holding]
    start_ms: int
    is_fixed: bool


def held_by(work: Work, seats: Iterable[Seat]) -> list[Holding]:
    """What the work holds in these seats."""
    return [Holding(seat.position, work.signatures[seat.group].demand, seat.devices) for seat in seats]


class Lines:
    def __init__(self, snapshot: Snapshot, board: Board, now_ms: int) -> None:
        self._snapshot = snapshot
        self._board = board
        self._now_ms = now_ms
        self.entries = fixed_entries(snapshot)
        self.reservations = {one.name: one for one in snapshot.calendar.reservations}
        self.running = running_without((), snapshot, lambda _: NO_FOOTPRINT)
        self.promised: dict[JobId, JobRecord] = {}
        self.bound: list[Booking] = []
        self.planned: dict[JobId, Booking] = {}
        self._fixed: dict[str, Timeline] = {}
        self._announced: dict[str, Timeline] = {}
        self._lines: dict[Durations, Timeline] = {}

    # -- what is in it

    def set_running(self, running: Running) -> None:
        """What runs, without what this cycle has evicted; lines are made anew."""
        self.running = running
        self._has_accounts = bool(self.reservations) or bool(len(self._inside_reservations().kind))
        self._fixed.clear()
        self._lines.clear()

    def add_promise(self, record: JobRecord) -> None:
        self.promised[record.job.id] = record

    def drop_promise(self, job_id: JobId) -> None:
        """It is being kept, or can't be."""
        record = self.promised.pop(job_id, None)
        if record is None or record.promise is None:
            return
        account, held = record.job.template.reservation, promised_seats(record, self._snapshot)
        # Not made anew: many may start at once, and each of them asks the lines.
        lines = [line for of, line in self._fixed.items() if of in (GROUND, account)]
        lines += self._lines.values() if account == EVERYBODY else ()
        start_ms = max(record.promise.start_ms, self._now_ms)
        for line in lines:
            line.give_back(held, start_ms, promised_end_ms(record, self._now_ms))

    def start(self, template: JobTemplate, held: list[Holding]) -> None:
        """Tasks that this cycle starts. The board has been told."""
        planned = Booking(template, held, self._now_ms, is_fixed=True)
        self.bound.append(planned)
        self._enter(planned)

    def plan(self, job: Job, work: Work, slot: Slot, *, is_fixed: bool) -> None:
        """A place for a job that waits; fixed: nothing may break it."""
        held = held_by(work, slot.seats)
        planned = self.planned[job.id] = Booking(job.template, held, slot.start_ms, is_fixed)
        self._enter(planned)

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """These are asked anew."""
        known = [job.id for job in jobs if job.id in self.planned]
        for job_id in known:
            del self.planned[job_id]
        if known:
            self._fixed.clear()
            self._lines.clear()

    def slot_of(self, job_id: JobId) -> tuple[int, int] | None:
        """Start and end of a waiting job's place, if it has one."""
        record = self.promised.get(job_id)
        if record is not None and record.promise is not None:
            return max(record.promise.start_ms, self._now_ms), promised_end_ms(record, self._now_ms)
        planned = self.planned.get(job_id)
        if planned is None:
            return None
        return planned.start_ms, planned.start_ms + limit_ms(planned.template)

    def _enter(self, planned: Booking) -> None:
        template, start_ms = planned.template, planned.start_ms
        for account, line in self._fixed.items():
            if planned.is_fixed and account in (GROUND, template.reservation):
                line.take(planned.held, start_ms, start_ms + limit_ms(template))
        for durations, line in self._lines.items():
            if template.reservation == EVERYBODY:
                length_ms = self.length_ms(durations, template)
                line.take(planned.held, start_ms, start_ms + length_ms)

    def length_ms(self, durations: Durations, template: JobTemplate) -> int:
        return Lengths(durations, self._snapshot.run_times).expected_ms(template)

    # -- lines

    def _fixed_line(self, account: str) -> Timeline:
        line = self._fixed.get(account)
        if line is None:
            line = self._fixed[account] = self._begun_line(account, Durations.LIMITS)
            for planned in [*self.bound, *self.planned.values()]:
                is_later = planned.start_ms > self._now_ms
                if planned.is_fixed and is_later and account in (GROUND, planned.template.reservation):
                    line.take(planned.held, planned.start_ms, planned.start_ms + limit_ms(planned.template))
        return line

    def fixed_lines(self, account: str) -> list[Timeline]:
        """All that bind a job of this account."""
        return [self._fixed_line(account), *self.ground_lines()]

    def ground_lines(self) -> list[Timeline]:
        return [self._fixed_line(GROUND)] if self._has_accounts else []

    def planned_line(self, durations: Durations) -> Timeline:
        line = self._lines.get(durations)
        if line is None:
            line = self._lines[durations] = self._begun_line(EVERYBODY, durations)
            for planned in self.planned.values():
                if planned.template.reservation == EVERYBODY:
                    length_ms = self.length_ms(durations, planned.template)
                    line.take(planned.held, planned.start_ms, planned.start_ms + length_ms)
        return line

    def _begun_line(self, account: str, durations: Durations) -> Timeline:
        """The board as it is now, the ends of what runs on it, and what is fixed."""
        lengths = Lengths(durations, self._snapshot.run_times)
        running = self.running.of_kinds(
            [account in (GROUND, template.reservation) for template in self.running.templates]
        )
        bound = [one for one in self.bound if account in (GROUND, one.template.reservation)]
        free, gpu = self._board.free, self._board.gpu_free
        if account == EVERYBODY:
            free, gpu = self._without_reserved(free, gpu)
        elif account != GROUND:
            free, gpu = account_room(self._snapshot.nodes, self.reservations[account])
            inside = running.held() + [held for one in bound for held in one.held]
            free, gpu = shifted(free, gpu, inside, -1)
        line = Timeline(free, gpu, self._now_ms)
        line.end_running(running.ends(lengths, self._now_ms).and_of(self.bound_ends(bound, lengths)))
        for entry in self.entries:
            if entry.account in (None, account):
                entry.enter(line)
        for record in self.promised.values():
            if account in (GROUND, record.job.template.reservation) and record.promise is not None:
                start_ms = max(record.promise.start_ms, self._now_ms)
                line.take(
                    promised_seats(record, self._snapshot), start_ms, promised_end_ms(record, self._now_ms)
                )
        return line

    def _without_reserved(self, free: Int64s, gpu: Int32s) -> tuple[Int64s, Int32s]:
        """Jobs inside reservations take from these, which are entries: not from everybody's account."""
        inside = self._inside_reservations().held()
        inside += [held for one in self.bound if one.template.reservation for held in one.held]
        return shifted(free, gpu, inside, 1) if inside else (free, gpu)

    def _inside_reservations(self) -> Running:
        return self.running.of_kinds([bool(template.reservation) for template in self.running.templates])

    def bound_ends(self, bound: Iterable[Booking], lengths: Lengths) -> list[tuple[int, Holding]]:
        return [
            (lengths.end_ms(one.template, one.start_ms, self._now_ms), held)
            for one in bound
            for held in one.held
        ]

    def announced_line(self, account: str) -> Timeline:
        """Nodes with nothing on them but what is announced."""
        line = self._announced.get(account)
        if line is None:
            nodes = self._snapshot.nodes
            free, gpu = nodes.capacity, nodes.gpu_capacity
            if account:
                free, gpu = account_room(nodes, self.reservations[account])
            line = self._announced[account] = Timeline(free, gpu, self._now_ms)
            for entry in self.entries:
                if entry.account in (None, account):
                    entry.enter(line)
        return line


def shifted(free: Int64s, gpu: Int32s, held: Iterable[Holding], sign: int) -> tuple[Int64s, Int32s]:
    """Copies with what these hold added or subtracted, also in the rows that follow from devices."""
    line = Timeline(free, gpu, 0)
    if sign > 0:
        line.give_back(held, 0, FOREVER_MS)
    else:
        line.take(held, 0, FOREVER_MS)
    room = line.room(0, 1)
    return room.free, room.gpu_free
