"""Questions to the calendar while a plan is made: who may start now without breaking what is fixed, and when
and where everybody else will. What is in it, and what is free when, the lines tell (`lines.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rota.engine.calendar.durations import Lengths, limit_ms
from rota.engine.calendar.entries import EVERYBODY, promised_end_ms, promised_seats
from rota.engine.calendar.fitting import any_seats, likely, may_fit, minds_where
from rota.engine.calendar.lines import Lines, Slot, shifted
from rota.engine.calendar.running import Running
from rota.engine.calendar.timeline import Holding, Timeline, room_in, starts
from rota.engine.placing.board import Board, Room
from rota.engine.placing.place import would_place
from rota.engine.placing.topology import Footprint
from rota.engine.placing.work import Seat, Work, least_need
from rota.model.job import JobRecord, JobTemplate
from rota.model.policy import Durations
from rota.model.reasons import RoomPlanned
from rota.model.verdict import Reason
from rota.snapshot.state import Snapshot

_TRIES = 64
"""So many moments at most are tried for one job at which there is room enough by amounts."""


class Agenda:
    def __init__(self, snapshot: Snapshot, board: Board, now_ms: int) -> None:
        self._snapshot = snapshot
        self._board = board
        self._now_ms = now_ms
        self.lines = Lines(snapshot, board, now_ms)

    # -- promises

    def is_open(self, record: JobRecord) -> bool:
        """Whether what is announced leaves room for a promised start, beside those asked for before."""
        assert record.promise is not None
        account = record.job.template.reservation
        start_ms, end_ms = max(record.promise.start_ms, self._now_ms), promised_end_ms(record, self._now_ms)
        if account:
            inside = self.lines.reservations.get(account)
            if inside is None or start_ms < inside.start_ms or end_ms > inside.end_ms:
                return False
        if not self.lines.entries:
            return True
        line, held = self.lines.announced_line(account), promised_seats(record, self._snapshot)
        line.take(held, start_ms, end_ms)
        room, at = line.room(start_ms, end_ms), [one.position for one in held]
        if (room.free[:, at] >= 0).all() and (room.gpu_free[at] >= 0).all():
            return True
        line.give_back(held, start_ms, end_ms)
        return False

    def is_free_before(self, record: JobRecord) -> bool:
        """Whether what a job was promised is free from now until then, or for as long as the job may run,
        beside all that is fixed: then it can start now. From then on it is the job's own anyway."""
        assert record.promise is not None
        template, held = record.job.template, promised_seats(record, self._snapshot)
        end_ms = min(record.promise.start_ms, self._now_ms + limit_ms(template))
        lines = self.lines.fixed_lines(template.reservation)
        return all(line.has_room(held, self._now_ms, end_ms) for line in lines)

    def room_beside_fixed(self, account: str, start_ms: int, end_ms: int) -> Room:
        """What all that is fixed leaves to an account all that time; below 0 where that is too much."""
        return room_in(self.lines.fixed_lines(account), start_ms, end_ms)

    # -- starting now

    def kept_back(self, template: JobTemplate, durations: Durations, *, past_plans: bool) -> Room | None:
        """What a job that starts now must leave alone because of what comes while it may run; None:
        nothing. `past_plans`: only what is fixed counts, not what is planned."""
        account, limit, lines = template.reservation, limit_ms(template), self.lines
        rooms = []
        is_booked = lines.entries or lines.promised or any(one.is_fixed for one in lines.planned.values())
        if account or is_booked:
            rooms += [line.room(self._now_ms, self._now_ms + limit) for line in lines.fixed_lines(account)]
        if not past_plans and not account and lines.planned:
            line = lines.planned_line(durations)
            if not line.only_rises:
                length_ms = lines.length_ms(durations, template)
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
        inside = self.lines.running.of_kinds(
            [template.reservation in self.lines.reservations for template in self.lines.running.templates]
        ).held()
        inside += [held for one in self.lines.bound if one.template.reservation for held in one.held]
        line = Timeline(*shifted(*nothing, inside, 1), self._now_ms)
        for entry in self.lines.entries:
            if entry.start_ms < end_ms and entry.end_ms > self._now_ms:
                entry.enter(line)
        for record in self.lines.promised.values():
            if record.promise is not None and record.promise.start_ms < end_ms:
                held, start_ms = promised_seats(record, self._snapshot), record.promise.start_ms
                line.take(held, start_ms, promised_end_ms(record, self._now_ms))
        for one in self.lines.planned.values():
            if one.is_fixed and one.start_ms < end_ms:
                line.take(one.held, one.start_ms, one.start_ms + limit_ms(one.template))
        room = line.room(self._now_ms, end_ms)
        kept, kept_gpu = np.maximum(-room.free, 0), np.maximum(-room.gpu_free, 0)
        return Room(kept, kept_gpu) if kept.any() or kept_gpu.any() else None

    def would_delay(
        self,
        template: JobTemplate,
        held: Sequence[Holding],
        running: Running,
        durations: Durations,
    ) -> bool:
        """Whether a job that is on the board already, while only these still run, runs into a start that
        is planned. Only its own nodes are looked at: no others have got less room."""
        column = {position: at for at, position in enumerate(sorted({one.position for one in held}))}
        end_ms = self._now_ms + self.lines.length_ms(durations, template)
        coming = [one for one in self.lines.planned.values() if one.template.reservation == EVERYBODY]
        if not any(
            one.start_ms < end_ms and column.keys() & {held.position for held in one.held} for one in coming
        ):
            return False

        def here(held: Iterable[Holding]) -> list[Holding]:
            return [one._replace(position=column[one.position]) for one in held if one.position in column]

        at, lengths = list(column), Lengths(durations, self._snapshot.run_times)
        line = Timeline(self._board.free[:, at], self._board.gpu_free[at], self._now_ms)
        there = running.only(np.isin(running.position, at)).ends(lengths, self._now_ms)
        ends = replace(there, position=np.searchsorted(at, there.position))
        ends = ends.and_of([(end_ms, one) for one in here(held)])
        ends = ends.and_of(
            [
                (bound_end_ms, one)
                for bound_end_ms, bound in self.lines.bound_ends(self.lines.bound, lengths)
                for one in here([bound])
            ]
        )
        line.end_running(ends)
        for one in coming:
            length_ms = self.lines.length_ms(durations, one.template)
            line.take(here(one.held), one.start_ms, one.start_ms + length_ms)
        return line.is_overbooked()

    def in_the_way(self, template: JobTemplate, seats: Iterable[Seat], durations: Durations) -> Reason:
        """The first entry that a job with these seats would run into if it started now."""
        at = {seat.position for seat in seats}
        limit_end = self._now_ms + limit_ms(template)
        planned_end = self._now_ms + self.lines.length_ms(durations, template)
        found: list[tuple[int, Reason]] = [
            (max(entry.start_ms, self._now_ms), entry.reason)
            for entry in self.lines.entries
            if entry.start_ms < limit_end
            and entry.end_ms > self._now_ms
            and at.intersection(entry.positions.tolist())
        ]
        for job_id, record in self.lines.promised.items():
            assert record.promise is not None
            nodes = {held.position for held in promised_seats(record, self._snapshot)}
            if record.promise.start_ms < limit_end and at & nodes:
                start_ms = max(record.promise.start_ms, self._now_ms)
                found.append((start_ms, RoomPlanned(job_id, start_ms)))
        for job_id, planned in self.lines.planned.items():
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
            lines, length_ms = self.lines.fixed_lines(account), limit
        else:
            lines = [self.lines.planned_line(durations), *self.lines.ground_lines()]
            # Whatever is expected, it may run until its limit, and must not run into what is fixed.
            length_ms = (
                limit
                if self.lines.entries or self.lines.promised
                else self.lines.length_ms(durations, template)
            )
        if account:
            reservation = self.lines.reservations[account]
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
        running = self.lines.running
        minded = running.of_kinds(
            [bool(running.footprint(kind).counters) for kind in range(len(running.templates))]
        )
        ends = minded.ends(Lengths(durations, self._snapshot.run_times), self._now_ms)
        gone = ends.at_ms <= at_ms
        return [
            (running.footprint(kind), position)
            for kind, position in zip(ends.kind[gone].tolist(), ends.position[gone].tolist(), strict=True)
        ]
