"""Free resources over time: what every node has left from each moment on until the next.

A segment is what is free between two moments at which something begins or ends. Running tasks end,
planned ones begin and end, maintenance takes whole nodes. A job that is to start at some moment needs
the least of every segment that it would run through; between two falls (something begins) the free
amounts only rise, so the segment it starts in and those that begin with a fall tell all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rota.engine.placing.board import Room
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.gpu import gpu_rows, refresh_all_gpu_rows
from rota.snapshot.rows import GPU_MILLI

Devices = tuple[int, ...]

FOREVER_MS = 1 << 60
"""Later than any time that is ever reached, and still small enough to be added to one."""
_CELLS = 1 << 21
"""About so many numbers at most describe the ends of running tasks (16 MiB)."""
_MOMENTS = (32, 512)
_SPARE = 32
"""Space for so many segments more than there are ends."""


class Holding(NamedTuple):
    """What one task holds where."""

    position: int
    demand: Demand
    devices: Devices


@dataclass(frozen=True, eq=False)
class Ends:
    """When tasks give back what they hold now, as columns."""

    at_ms: Int64s
    position: Int64s
    kind: Int64s
    demands: Sequence[Demand]
    """Of each kind."""
    devices: Sequence[Devices]
    """Of each task; empty: none has any."""

    def and_of(self, tasks: Sequence[tuple[int, Holding]]) -> Ends:
        """Those of more tasks as well, given one by one."""
        if not tasks:
            return self
        devices: Sequence[Devices] = ()
        if self.devices or any(held.devices for _, held in tasks):
            devices = [*(self.devices or [()] * len(self.kind)), *(held.devices for _, held in tasks)]
        demands = list({id(held.demand): held.demand for _, held in tasks}.values())
        number = {id(demand): len(self.demands) + at for at, demand in enumerate(demands)}
        return Ends(
            np.append(self.at_ms, [end_ms for end_ms, _ in tasks]),
            np.append(self.position, [held.position for _, held in tasks]),
            np.append(self.kind, [number[id(held.demand)] for _, held in tasks]),
            [*self.demands, *demands],
            devices,
        )


_NONE = np.empty(0, dtype=np.int64)
NO_ENDS = Ends(_NONE, _NONE, _NONE, (), ())


class Timeline:
    """More than twenty methods: all that reads or changes the arrays has to know how segments lie in them."""

    def __init__(self, free: Int64s, gpu_free: Int32s, now_ms: int) -> None:
        """Begins with what is free now, for ever."""
        self._allot(np.array([now_ms], dtype=np.int64), free, gpu_free)
        # A node that lacks something takes nothing from what others have, here and below.
        self._totals[0] = np.maximum(free, 0).sum(axis=1)

    def _allot(self, times: Int64s, free: Int64s, gpu_free: Int32s) -> None:
        """Makes segments that begin at these times: the first with what is free, the others with none."""
        self._count, space = len(times), len(times) + _SPARE
        self._times = np.resize(times, space)
        self._slots = np.arange(space)
        """Where in the arrays each segment lies: so one can be put between two others by copying
        one, and many can still be changed in one operation."""
        self._falls = np.zeros(space, dtype=np.bool_)
        """Whether something is taken at the beginning of the segment."""
        self._free = np.empty((space, *free.shape), dtype=np.int64)
        self._gpu = np.empty((space, *gpu_free.shape), dtype=np.int32)
        self._totals = np.zeros((space, len(free)), dtype=np.int64)
        self._free[0], self._gpu[0] = free, gpu_free

    @property
    def now_ms(self) -> int:
        return int(self._times[0])

    @property
    def only_rises(self) -> bool:
        """Whether nothing begins later on: what is free now stays free."""
        return not self._falls[: self._count].any()

    # -- entries

    def end_running(self, ends: Ends) -> None:
        """To be told before anything else. Many different times are rounded up to fewer: no start is
        planned too early by that."""
        ending = np.flatnonzero(ends.at_ms < FOREVER_MS)
        if not len(ending):
            return
        moments = _rounded(np.unique(ends.at_ms[ending]), self._free[0].size)
        times = np.union1d(self._times[:1], moments)
        segment = times.searchsorted(moments[moments.searchsorted(ends.at_ms[ending])])
        self._allot(times, self._free[0], self._gpu[0])
        in_order = np.argsort(segment, kind="stable")
        tasks, ended = ending[in_order], segment[in_order].searchsorted(np.arange(1, len(times) + 1))
        takes = np.stack([demand.take for demand in ends.demands])
        taken = np.flatnonzero(takes.any(axis=0))
        amounts = takes[ends.kind[tasks][:, None], taken]
        cells = taken * self._free.shape[2] + ends.position[tasks][:, None]
        first = 0
        for at, last in enumerate(ended.tolist()):
            if at:
                self._free[at], self._gpu[at] = self._free[at - 1], self._gpu[at - 1]
            np.add.at(self._free[at].reshape(-1), cells[first:last].ravel(), amounts[first:last].ravel())
            if ends.devices:
                self._give_devices(at, tasks[first:last].tolist(), ends)
            first = last
        self._count_totals(taken, np.vstack([np.zeros_like(taken), amounts.cumsum(axis=0)])[ended])

    def _give_devices(self, at: int, tasks: list[int], ends: Ends) -> None:
        on_devices = [task for task in tasks if ends.devices[task]]
        for task in on_devices:
            share_milli = ends.demands[ends.kind[task]].gpu.share_milli
            self._gpu[at, ends.position[task], list(ends.devices[task])] += share_milli
        positions = ends.position[on_devices]
        for row, values in gpu_rows(self._gpu[at, positions]):
            self._free[at, row, positions] = values

    def _count_totals(self, taken: Int64s, given: Int64s) -> None:
        """After ends: of each segment, given of the rows that were taken from [segment, row]."""
        count = self._count
        if self._gpu.size or (self._free[0] < 0).any():
            self._totals[:count] = np.maximum(self._free[:count], 0).sum(axis=2)
        else:
            self._totals[:count] = self._free[0].sum(axis=1)
            self._totals[:count, taken] += given - given[0]

    def take(self, held: Iterable[Holding], start_ms: int, end_ms: int) -> None:
        """Nobody else gets this from start to end."""
        if end_ms > max(start_ms, self.now_ms):
            first = self._shift(list(held), start_ms, end_ms, -1)
            self._falls[first] |= first > 0

    def give_back(self, held: Iterable[Holding], start_ms: int, end_ms: int) -> None:
        """Undoes `take`; moments at which something fell stay marked, which is only slower."""
        if end_ms > max(start_ms, self.now_ms):
            self._shift(list(held), start_ms, end_ms, 1)

    def take_rows(self, positions: Int64s, amounts: Int64s, gpu: Int32s, start_ms: int, end_ms: int) -> None:
        """Takes [row, position] amounts and [position, device] shares of devices."""
        if end_ms <= max(start_ms, self.now_ms) or not len(positions):
            return
        first, slots = self._span(start_ms, end_ms)
        self._free[slots[:, None, None], np.arange(len(amounts))[:, None], positions] -= amounts
        if gpu.any():
            self._gpu[slots[:, None], positions] -= gpu
            self._refresh_gpu_rows(slots, positions)
        self._totals[slots] = np.maximum(self._free[slots], 0).sum(axis=2)
        self._falls[first] |= first > 0

    def _shift(self, held: list[Holding], start_ms: int, end_ms: int, sign: int) -> int:
        first, slots = self._span(start_ms, end_ms)
        for demand, positions in _by_demand(held):
            amounts = sign * demand.taken
            at = np.array(positions)
            if len(positions) > 1:
                at, counts = np.unique(at, return_counts=True)
                amounts = amounts * counts
            index = slots[:, None, None], demand.taken_rows, at
            before = self._free[index]
            after = self._free[index] = before + amounts
            gained = (np.maximum(after, 0) - np.maximum(before, 0)).sum(axis=2)
            self._totals[slots[:, None], demand.taken_rows[:, 0]] += gained
        for one in held:
            if one.devices:
                for device in one.devices:
                    self._gpu[slots, one.position, device] += sign * one.demand.gpu.share_milli
                self._refresh_gpu_rows(slots, np.array((one.position,)))
        return first

    def _refresh_gpu_rows(self, slots: Int64s, positions: Int64s) -> None:
        """The GPU rows of these nodes follow from their devices."""
        devices = self._gpu[slots[:, None], positions]
        for row, values in gpu_rows(devices):
            before = self._free[slots[:, None], row, positions]
            self._free[slots[:, None], row, positions] = values
            self._totals[slots, row] += (np.maximum(values, 0) - np.maximum(before, 0)).sum(axis=1)

    def _span(self, start_ms: int, end_ms: int) -> tuple[int, Int64s]:
        """The first segment from start to end, cut so that both are borders, and the slots of all."""
        first = self._border(max(start_ms, self.now_ms))
        last = self._count if end_ms >= FOREVER_MS else self._border(end_ms)
        return first, self._slots[first:last]

    def _border(self, time_ms: int) -> int:
        count = self._count
        at = int(self._times[:count].searchsorted(time_ms))
        if at < count and self._times[at] == time_ms:
            return at
        if count == len(self._times):
            self._grow()
        for values in (self._free, self._gpu, self._totals):
            values[count] = values[self._slots[at - 1]]
        for column, value in ((self._times, time_ms), (self._slots, count), (self._falls, False)):
            column[at + 1 : count + 1] = column[at:count]
            column[at] = value
        self._count += 1
        return at

    def _grow(self) -> None:
        more = max(_SPARE, self._count // 2)
        self._times, self._slots, self._falls, self._free, self._gpu, self._totals = (
            np.concatenate([values, np.zeros((more, *values.shape[1:]), values.dtype)])
            for values in (self._times, self._slots, self._falls, self._free, self._gpu, self._totals)
        )

    # -- questions

    def room(self, start_ms: int, end_ms: int) -> Room:
        """What is free on each node all the time from start to end."""
        first, *others = self._telling(start_ms, end_ms).tolist()
        free, gpu = self._free[first].copy(), self._gpu[first].copy()
        for slot in others:
            np.minimum(free, self._free[slot], out=free)
        if gpu.size and others:
            for slot in others:
                np.minimum(gpu, self._gpu[slot], out=gpu)
            # The least of each device at any time: the rows that are derived follow from that.
            refresh_all_gpu_rows(free, gpu)
        return Room(free, gpu)

    def has_room(self, held: Sequence[Holding], start_ms: int, end_ms: int) -> bool:
        """Whether all of this, on the devices that are named, is free all the time from start to end."""
        slots = self._telling(start_ms, end_ms)
        at, columns = np.unique([one.position for one in held], return_inverse=True)
        need = np.zeros((self._free.shape[1], len(at)), dtype=np.int64)
        need_gpu = np.zeros((len(at), self._gpu.shape[2]), dtype=np.int64)
        for one, column in zip(held, columns.tolist(), strict=True):
            need[:, column] += one.demand.take
            need_gpu[column, list(one.devices)] += one.demand.gpu.share_milli
        # The rows that follow from devices: these are asked themselves.
        need[GPU_MILLI] = 0
        free, gpu_free = self._free[slots][:, :, at], self._gpu[slots][:, at]
        return bool(((need == 0) | (free >= need)).all() and ((need_gpu == 0) | (gpu_free >= need_gpu)).all())

    def least(self, row: int, start_ms: int, end_ms: int) -> Int64s:
        """The same of one row."""
        free: Int64s = self._free[self._telling(start_ms, end_ms), row].min(axis=0)
        return free

    def free_at(self, moments: Int64s, row: int) -> Int64s:
        """[moment, node] what is free of one row just then; none of the moments is before now."""
        at = self._times[: self._count].searchsorted(moments, side="right") - 1
        free: Int64s = self._free[self._slots[at], row]
        return free

    def _telling(self, start_ms: int, end_ms: int) -> Int64s:
        """Slots of the segments in which the least of a period is found."""
        times = self._times[: self._count]
        first = int(times.searchsorted(max(start_ms, self.now_ms), side="right")) - 1
        last = max(first + 1, int(times.searchsorted(end_ms)))
        tells = self._falls[first:last].copy()
        tells[0] = True
        return self._slots[first:last][tells]

    def starts(self, need: Int64s, length_ms: int, not_before_ms: int, latest_ms: int) -> list[int]:
        """Moments worth trying, the earliest first: from each of them the cluster as a whole has at
        least so much free for so long."""
        earliest_ms = max(not_before_ms, self.now_ms)
        first = int(self._times[: self._count].searchsorted(earliest_ms, side="right")) - 1
        times = self._times[first : self._count]
        enough = (self._totals[self._slots[first : self._count]] >= need).all(axis=1)
        short_ms = np.where(enough, FOREVER_MS, times)
        # When each segment, or the next after it that has too little, begins.
        short_ms = np.minimum.accumulate(short_ms[::-1])[::-1]
        begins = np.maximum(times, earliest_ms)
        fits = enough & (begins <= latest_ms) & (begins < FOREVER_MS)
        fits &= (short_ms == FOREVER_MS) | (begins + length_ms <= short_ms)
        found: list[int] = begins[fits].tolist()
        return found

    def is_overbooked(self) -> bool:
        """Whether any node holds more than it has at any time."""
        slots = self._slots[: self._count]
        return bool((self._free[slots] < 0).any() or (self._gpu[slots] < 0).any())


def _by_demand(held: list[Holding]) -> Iterable[tuple[Demand, list[int]]]:
    """Positions of tasks that ask for the same: most tasks of a job do."""
    found: dict[int, tuple[Demand, list[int]]] = {}
    for one in held:
        found.setdefault(id(one.demand), (one.demand, []))[1].append(one.position)
    return found.values()


def _rounded(moments: Int64s, cells: int) -> Int64s:
    """At most so many of these moments that a timeline of them stays small, the last among them."""
    fewest, most = _MOMENTS
    allowed = min(most, max(fewest, _CELLS // max(1, cells)))
    if len(moments) <= allowed:
        return moments
    return moments[np.linspace(0, len(moments) - 1, allowed).round().astype(np.int64)]


# -- several at once


def room_in(lines: Sequence[Timeline], start_ms: int, end_ms: int) -> Room:
    """What is free in all of them."""
    room = lines[0].room(start_ms, end_ms)
    for line in lines[1:]:
        other = line.room(start_ms, end_ms)
        np.minimum(room.free, other.free, out=room.free)
        if room.gpu_free.size:
            np.minimum(room.gpu_free, other.gpu_free, out=room.gpu_free)
            refresh_all_gpu_rows(room.free, room.gpu_free)
    return room


def starts(
    lines: Sequence[Timeline], need: Int64s, length_ms: int, not_before_ms: int, latest_ms: int
) -> list[int]:
    """Moments worth trying in all of them, the earliest first."""
    if len(lines) == 1:
        return lines[0].starts(need, length_ms, not_before_ms, latest_ms)
    return sorted({at for line in lines for at in line.starts(need, length_ms, not_before_ms, latest_ms)})
