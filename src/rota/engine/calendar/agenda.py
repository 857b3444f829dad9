"""The calendar while a plan is made: who may start now without breaking what is fixed, and when and
where everybody else will.

Two kinds of lines tell what is free when. The *fixed* line of an account goes by time limits and holds
what must not break: maintenance, reservations, promised starts. Where there are reservations, everybody
is bound by the ground under all accounts, too: what accounts don't divide, and who is where by an older
right. The *planned* line goes by the run times
that a queue plans with and holds the planned starts of waiting batch jobs as well, which only those
behind them have to respect. Lines are made when first asked for, and anew after evictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rota.engine.calendar.durations import Lengths, limit_ms
from rota.engine.calendar.entries import (
    EVERYBODY,
    GROUND,
    account_room,
    fixed_entries,
    promised_end_ms,
    promised_seats,
)
from rota.engine.calendar.fitting import any_seats, likely, may_fit, minds_where
from rota.engine.calendar.running import Running, running_without
from rota.engine.calendar.timeline import FOREVER_MS, Held, Timeline, room_in, starts
from rota.engine.placing.board import Board, Room
from rota.engine.placing.place import would_place
from rota.engine.placing.topology import NO_FOOTPRINT, Footprint
from rota.engine.placing.work import Seat, Work, least_need
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.policy import Durations
from rota.model.reasons import RoomPlanned
from rota.model.verdict import Reason
from rota.snapshot.state import Snapshot

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

_TRIES = 64
"""So many moments at most are tried for one job at which there is room enough by amounts."""


@dataclass(frozen=True, eq=False)
class Slot:
    """A place in the calendar."""

    start_ms: int
    seats: Sequence[Seat]


@dataclass(frozen=True, eq=False)
class _Planned:
    """An entry for a job: one that starts in this cycle, or will."""

    template: JobTemplate
    held: list[Held]
    start_ms: int
    is_fixed: bool


class Agenda:
    def __init__(self, snapshot: Snapshot, board: Board, now_ms: int) -> None:
        self._snapshot = snapshot
        self._board = board
        self._now_ms = now_ms
        self._entries = fixed_entries(snapshot)
        self._reservations = {one.name: one for one in snapshot.calendar.reservations}
        self._running = running_without((), snapshot, lambda _: NO_FOOTPRINT)
        self._promised: dict[JobId, JobRecord] = {}
        self._bound: list[_Planned] = []
        self._planned: dict[JobId, _Planned] = {}
        self._fixed: dict[str, Timeline] = {}
        self._announced: dict[str, Timeline] = {}
        self._lines: dict[Durations, Timeline] = {}

    # -- what is in it

    def set_running(self, running: Running) -> None:
        """What runs, without what this cycle has evicted; lines are made anew."""
        self._running = running
        self._has_accounts = bool(self._reservations) or bool(len(self._inside_reservations().kind))
        self._fixed.clear()
        self._lines.clear()

    def add_promise(self, record: JobRecord) -> None:
        self._promised[record.job.id] = record

    def drop_promise(self, job_id: JobId) -> None:
        """It is being kept, or can't be."""
        self._promised.pop(job_id, None)
        self._fixed.clear()
        self._lines.clear()

    def start(self, template: JobTemplate, held: list[Held]) -> None:
        """Tasks that this cycle starts. The board has been told."""
        planned = _Planned(template, held, self._now_ms, is_fixed=True)
        self._bound.append(planned)
        self._enter(planned)

    def plan(self, job: Job, work: Work, slot: Slot, *, is_fixed: bool) -> None:
        """A place for a job that waits; fixed: nothing may break it."""
        held = [Held(seat.position, work.signatures[seat.group].demand, seat.devices) for seat in slot.seats]
        planned = self._planned[job.id] = _Planned(job.template, held, slot.start_ms, is_fixed)
        self._enter(planned)

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """These are asked anew."""
        known = [job.id for job in jobs if job.id in self._planned]
        for job_id in known:
            del self._planned[job_id]
        if known:
            self._fixed.clear()
            self._lines.clear()

    def slot_of(self, job_id: JobId) -> tuple[int, int] | None:
        """Start and end of a waiting job's place, if it has one."""
        record = self._promised.get(job_id)
        if record is not None and record.promise is not None:
            return max(record.promise.start_ms, self._now_ms), promised_end_ms(record, self._now_ms)
        planned = self._planned.get(job_id)
        if planned is None:
            return None
        return planned.start_ms, planned.start_ms + limit_ms(planned.template)

    def is_open(self, record: JobRecord) -> bool:
        """Whether what is announced leaves room for a promised start, beside those asked for before."""
        assert record.promise is not None
        account = record.job.template.reservation
        start_ms, end_ms = max(record.promise.start_ms, self._now_ms), promised_end_ms(record, self._now_ms)
        if account:
            inside = self._reservations.get(account)
            if inside is None or start_ms < inside.start_ms or end_ms > inside.end_ms:
                return False
        if not self._entries:
            return True
        line, held = self._announced_line(account), promised_seats(record, self._snapshot)
        line.take(held, start_ms, end_ms)
        room, at = line.room(start_ms, end_ms), [one.position for one in held]
        if (room.free[:, at] >= 0).all() and (room.gpu_free[at] >= 0).all():
            return True
        line.give_back(held, start_ms, end_ms)
        return False

    def _announced_line(self, account: str) -> Timeline:
        """Nodes with nothing on them but what is announced."""
        line = self._announced.get(account)
        if line is None:
            nodes = self._snapshot.nodes
            free, gpu = nodes.capacity, nodes.gpu_capacity
            if account:
                free, gpu = account_room(nodes, self._reservations[account])
            line = self._announced[account] = Timeline(free, gpu, self._now_ms)
            for entry in self._entries:
                if entry.account in (None, account):
                    entry.enter(line)
        return line

    def _enter(self, planned: _Planned) -> None:
        template, start_ms = planned.template, planned.start_ms
        for account, line in self._fixed.items():
            if planned.is_fixed and account in (GROUND, template.reservation):
                line.take(planned.held, start_ms, start_ms + limit_ms(template))
        for durations, line in self._lines.items():
            if template.reservation == EVERYBODY:
                length_ms = self._length_ms(durations, template)
                line.take(planned.held, start_ms, start_ms + length_ms)

    def _length_ms(self, durations: Durations, template: JobTemplate) -> int:
        return Lengths(durations, self._snapshot.run_times).expected_ms(template)

    # -- lines

    def _fixed_line(self, account: str) -> Timeline:
        line = self._fixed.get(account)
        if line is None:
            line = self._fixed[account] = self._begun_line(account, Durations.LIMITS)
            for planned in [*self._bound, *self._planned.values()]:
                is_later = planned.start_ms > self._now_ms
                if planned.is_fixed and is_later and account in (GROUND, planned.template.reservation):
                    line.take(planned.held, planned.start_ms, planned.start_ms + limit_ms(planned.template))
        return line

    def _fixed_lines(self, account: str) -> list[Timeline]:
        """All that bind a job of this account."""
        return [self._fixed_line(account), *self._ground_lines()]

    def _ground_lines(self) -> list[Timeline]:
        return [self._fixed_line(GROUND)] if self._has_accounts else []

    def room_beside_fixed(self, account: str, start_ms: int, end_ms: int) -> Room:
        """What all that is fixed leaves to an account all that time; below 0 where that is too much."""
        return room_in(self._fixed_lines(account), start_ms, end_ms)

    def _planned_line(self, durations: Durations) -> Timeline:
        line = self._lines.get(durations)
        if line is None:
            line = self._lines[durations] = self._begun_line(EVERYBODY, durations)
            for planned in self._planned.values():
                if planned.template.reservation == EVERYBODY:
                    length_ms = self._length_ms(durations, planned.template)
                    line.take(planned.held, planned.start_ms, planned.start_ms + length_ms)
        return line

    def _begun_line(self, account: str, durations: Durations) -> Timeline:
        """The board as it is now, the ends of what runs on it, and what is fixed."""
        lengths = Lengths(durations, self._snapshot.run_times)
        running = self._running.of_kinds(
            [account in (GROUND, template.reservation) for template in self._running.templates]
        )
        bound = [one for one in self._bound if account in (GROUND, one.template.reservation)]
        free, gpu = self._board.free, self._board.gpu_free
        if account == EVERYBODY:
            free, gpu = self._without_reserved(free, gpu)
        elif account != GROUND:
            free, gpu = account_room(self._snapshot.nodes, self._reservations[account])
            inside = running.held() + [held for one in bound for held in one.held]
            free, gpu = _shifted(free, gpu, inside, -1)
        line = Timeline(free, gpu, self._now_ms)
        line.end_running(running.ends(lengths, self._now_ms).and_of(self._bound_ends(bound, lengths)))
        for entry in self._entries:
            if entry.account in (None, account):
                entry.enter(line)
        for record in self._promised.values():
            if account in (GROUND, record.job.template.reservation) and record.promise is not None:
                start_ms = max(record.promise.start_ms, self._now_ms)
                line.take(
                    promised_seats(record, self._snapshot), start_ms, promised_end_ms(record, self._now_ms)
                )
        return line

    def _without_reserved(self, free: Int64s, gpu: Int32s) -> tuple[Int64s, Int32s]:
        """Jobs inside reservations take from these, which are entries: not from everybody's account."""
        inside = self._inside_reservations().held()
        inside += [held for one in self._bound if one.template.reservation for held in one.held]
        return _shifted(free, gpu, inside, 1) if inside else (free, gpu)

    def _inside_reservations(self) -> Running:
        return self._running.of_kinds([bool(template.reservation) for template in self._running.templates])

    def _bound_ends(self, bound: Iterable[_Planned], lengths: Lengths) -> list[tuple[int, Held]]:
        return [
            (lengths.end_ms(one.template, one.start_ms, self._now_ms), held)
            for one in bound
            for held in one.held
        ]

    # -- starting now

    def kept_back(self, template: JobTemplate, durations: Durations, *, past_plans: bool) -> Room | None:
        """What a job that starts now must leave alone because of what comes while it may run; None:
        nothing. `past_plans`: only what is fixed counts, not what is planned."""
        account, limit = template.reservation, limit_ms(template)
        rooms = []
        if account or self._entries or self._promised or any(one.is_fixed for one in self._planned.values()):
            rooms += [line.room(self._now_ms, self._now_ms + limit) for line in self._fixed_lines(account)]
        if not past_plans and not account and self._planned:
            line = self._planned_line(durations)
            if not line.only_rises:
                length_ms = self._length_ms(durations, template)
                rooms.append(line.room(self._now_ms, self._now_ms + length_ms))
        if not rooms:
            return None
        free, gpu = self._board.free, self._board.gpu_free
        kept, kept_gpu = np.zeros_like(free), np.zeros_like(gpu)
        for room in rooms:
            np.maximum(kept, free - room.free, out=kept)
            np.maximum(kept_gpu, gpu - room.gpu_free, out=kept_gpu)
        return Room(kept, kept_gpu) if kept.any() or kept_gpu.any() else None

    def kept_from_evictors(self, template: JobTemplate) -> Room | None:
        """What a job that evicts others must leave alone: all that is fixed to begin while it may run,
        whoever would have ended by then, since it may evict these."""
        end_ms = self._now_ms + limit_ms(template)
        nothing = np.zeros_like(self._board.free), np.zeros_like(self._board.gpu_free)
        # What runs inside of reservations fills them, and isn't evicted for those outside.
        inside = self._running.of_kinds(
            [template.reservation in self._reservations for template in self._running.templates]
        ).held()
        inside += [held for one in self._bound if one.template.reservation for held in one.held]
        line = Timeline(*_shifted(*nothing, inside, 1), self._now_ms)
        for entry in self._entries:
            if entry.start_ms < end_ms and entry.end_ms > self._now_ms:
                entry.enter(line)
        for record in self._promised.values():
            if record.promise is not None and record.promise.start_ms < end_ms:
                held, start_ms = promised_seats(record, self._snapshot), record.promise.start_ms
                line.take(held, start_ms, promised_end_ms(record, self._now_ms))
        for one in self._planned.values():
            if one.is_fixed and one.start_ms < end_ms:
                line.take(one.held, one.start_ms, one.start_ms + limit_ms(one.template))
        room = line.room(self._now_ms, end_ms)
        kept, kept_gpu = np.maximum(-room.free, 0), np.maximum(-room.gpu_free, 0)
        return Room(kept, kept_gpu) if kept.any() or kept_gpu.any() else None

    def would_delay(
        self,
        template: JobTemplate,
        held: Sequence[Held],
        running: Running,
        durations: Durations,
    ) -> bool:
        """Whether a job that is on the board already, while only these still run, runs into a start that
        is planned. Only its own nodes are looked at: no others have got less room."""
        column = {position: at for at, position in enumerate(sorted({one.position for one in held}))}
        end_ms = self._now_ms + self._length_ms(durations, template)
        coming = [one for one in self._planned.values() if one.template.reservation == EVERYBODY]
        if not any(
            one.start_ms < end_ms and column.keys() & {held.position for held in one.held} for one in coming
        ):
            return False

        def here(held: Iterable[Held]) -> list[Held]:
            return [one._replace(position=column[one.position]) for one in held if one.position in column]

        at, lengths = list(column), Lengths(durations, self._snapshot.run_times)
        line = Timeline(self._board.free[:, at], self._board.gpu_free[at], self._now_ms)
        there = running.only(np.isin(running.position, at)).ends(lengths, self._now_ms)
        ends = replace(there, position=np.searchsorted(at, there.position))
        ends = ends.and_of([(end_ms, one) for one in here(held)])
        ends = ends.and_of(
            [
                (bound_end_ms, one)
                for bound_end_ms, bound in self._bound_ends(self._bound, lengths)
                for one in here([bound])
            ]
        )
        line.end_running(ends)
        for one in coming:
            length_ms = self._length_ms(durations, one.template)
            line.take(here(one.held), one.start_ms, one.start_ms + length_ms)
        return line.is_overbooked()

    def in_the_way(self, template: JobTemplate, seats: Iterable[Seat], durations: Durations) -> Reason:
        """The first entry that a job with these seats would run into if it started now."""
        at = {seat.position for seat in seats}
        limit_end = self._now_ms + limit_ms(template)
        planned_end = self._now_ms + self._length_ms(durations, template)
        found: list[tuple[int, Reason]] = [
            (max(entry.start_ms, self._now_ms), entry.reason)
            for entry in self._entries
            if entry.start_ms < limit_end
            and entry.end_ms > self._now_ms
            and at.intersection(entry.positions.tolist())
        ]
        for job_id, record in self._promised.items():
            assert record.promise is not None
            nodes = {held.position for held in promised_seats(record, self._snapshot)}
            if record.promise.start_ms < limit_end and at & nodes:
                start_ms = max(record.promise.start_ms, self._now_ms)
                found.append((start_ms, RoomPlanned(job_id, start_ms)))
        for job_id, planned in self._planned.items():
            end_ms = limit_end if planned.is_fixed else planned_end
            if planned.start_ms < end_ms and at.intersection(held.position for held in planned.held):
                found.append((planned.start_ms, RoomPlanned(job_id, planned.start_ms)))
        return min(found, key=lambda one: one[0])[1] if found else RoomPlanned()

    # -- starting later

    def find(
        self,
        work: Work,
        template: JobTemplate,
        durations: Durations,
        *,
        not_before_ms: int,
        latest_ms: int,
        is_fixed: bool,
    ) -> Slot | None:
        """The earliest place for the work, by what is fixed alone or behind all that is planned."""
        account, limit = template.reservation, limit_ms(template)
        if is_fixed or account:
            lines, length_ms = self._fixed_lines(account), limit
        else:
            lines = [self._planned_line(durations), *self._ground_lines()]
            # Whatever is expected, it may run until its limit, and must not run into what is fixed.
            length_ms = limit if self._entries or self._promised else self._length_ms(durations, template)
        if account:
            reservation = self._reservations[account]
            not_before_ms = max(not_before_ms, reservation.start_ms)
            latest_ms = min(latest_ms, reservation.end_ms - limit)
        tries, is_told = 0, is_fixed or minds_where(work)
        moments = starts(lines, least_need(work), length_ms, not_before_ms, latest_ms)
        is_one_kind = len(work.signatures) == 1
        for start_ms in likely(moments, length_ms, work, lines[0]) if is_one_kind else moments:
            room = room_in(lines, start_ms, start_ms + length_ms)
            if not is_told:
                seats = any_seats(work, room.free)
            elif may_fit(work, room.free):
                seats = self._seats_in(room, work, start_ms, durations)
            else:
                continue
            if seats is not None:
                return Slot(start_ms, seats)
            # Of one kind, what fits by amounts finds seats by amounts.
            tries += is_told or (not is_one_kind and may_fit(work, room.free))
            if tries >= _TRIES:
                break
        return None

    def _seats_in(self, room: Room, work: Work, at_ms: int, durations: Durations) -> list[Seat] | None:
        """Where the work goes with that much room: the same placing, on the same board."""
        board = self._board
        gone = self._counted_ends(work, at_ms, durations)
        kept = Room(board.free - room.free, board.gpu_free - room.gpu_free)
        for footprint, position in gone:
            footprint.add(position, -1)
        with board.without(kept):
            seats = would_place(work, board)
        for footprint, position in gone:
            footprint.add(position, 1)
        return seats

    def _counted_ends(self, work: Work, at_ms: int, durations: Durations) -> list[tuple[Footprint, int]]:
        """Of running tasks that others mind and that will be gone by then, who minds, and the node."""
        if not any(signature.domain_rules.any for signature in work.signatures):
            return []
        running = self._running
        minded = running.of_kinds(
            [bool(running.footprint(kind).counters) for kind in range(len(running.templates))]
        )
        ends = minded.ends(Lengths(durations, self._snapshot.run_times), self._now_ms)
        gone = ends.at_ms <= at_ms
        return [
            (running.footprint(kind), position)
            for kind, position in zip(ends.kind[gone].tolist(), ends.position[gone].tolist(), strict=True)
        ]


def _shifted(free: Int64s, gpu: Int32s, held: Iterable[Held], sign: int) -> tuple[Int64s, Int32s]:
    """Copies with what these hold added or subtracted, also in the rows that follow from devices."""
    line = Timeline(free, gpu, 0)
    if sign > 0:
        line.give_back(held, 0, FOREVER_MS)
    else:
        line.take(held, 0, FOREVER_MS)
    room = line.room(0, 1)
    return room.free, room.gpu_free
