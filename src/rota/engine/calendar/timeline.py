"""Free resources over time: what every node has left from each moment on until the next.

A segment is what is free between two moments at which something begins or ends. Running tasks end,
planned ones begin and end, maintenance takes whole nodes. A job that is to start at some moment needs
the least of every segment that it would run through; between two falls (something begins) the free
amounts only rise, so the segment it starts in and those that begin with a fall tell all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Room
from rota.snapshot.demand import Demand
from rota.snapshot.gpu import gpu_rows, refresh_all_gpu_rows

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Devices = tuple[int, ...]

FOREVER_MS = 1 << 60
"""Later than any time that is ever reached, and still small enough to be added to one."""
_CELLS = 1 << 21
"""About so many numbers at most describe the ends of running tasks (16 MiB)."""
_MOMENTS = (32, 512)


class Held(NamedTuple):
    """What one task holds where."""

    position: int
    demand: Demand
    devices: Devices


class Timeline:
    def __init__(self, free: Int64s, gpu_free: Int32s, now_ms: int) -> None:
        """Begins with what is free now, for ever."""
        self._times = [now_ms]
        self._slots = [0]
        """Where in the arrays each segment lies: so one can be put between two others by copying
        one, and many can still be changed in one operation."""
        self._falls = [False]
        """Whether something is taken at the beginning of the segment."""
        self._free = np.empty((16, *free.shape), dtype=np.int64)
        self._gpu = np.empty((16, *gpu_free.shape), dtype=np.int32)
        self._totals = np.empty((16, free.shape[0]), dtype=np.int64)
        self._free[0], self._gpu[0] = free, gpu_free
        # A node that lacks something takes nothing from what others have, here and below.
        self._totals[0] = np.maximum(free, 0).sum(axis=1)

    @property
    def now_ms(self) -> int:
        return self._times[0]

    @property
    def only_rises(self) -> bool:
        """Whether nothing begins later on: what is free now stays free."""
        return not any(self._falls)

    # -- entries

    def end_running(self, tasks: Iterable[tuple[int, Held]]) -> None:
        """Tasks that hold something now and give it back at these times; to be told before anything
        else. Many different times are rounded up to fewer: no start is planned too early by that."""
        ending = [(end_ms, held) for end_ms, held in tasks if end_ms < FOREVER_MS]
        moments = _rounded(sorted({end_ms for end_ms, _ in ending}), self._free[0].size)
        by_moment: dict[int, list[Held]] = {}
        for end_ms, held in ending:
            by_moment.setdefault(moments[bisect_left(moments, end_ms)], []).append(held)
        for moment in sorted(by_moment):
            # Each new segment begins as a copy of the last: what ended before is in it already.
            self._shift(by_moment[moment], moment, FOREVER_MS, 1)

    def take(self, held: Iterable[Held], start_ms: int, end_ms: int) -> None:
        """Nobody else gets this from start to end."""
        if end_ms > max(start_ms, self.now_ms):
            first = self._shift(list(held), start_ms, end_ms, -1)
            self._falls[first] |= first > 0

    def give_back(self, held: Iterable[Held], start_ms: int, end_ms: int) -> None:
        """Undoes `take`; moments at which something fell stay marked, which is only slower."""
        if end_ms > max(start_ms, self.now_ms):
            self._shift(list(held), start_ms, end_ms, 1)

    def take_rows(self, positions: Int64s, amounts: Int64s, gpu: Int32s, start_ms: int, end_ms: int) -> None:
        """Takes [row, position] amounts and [position, device] shares of devices."""
        if end_ms <= max(start_ms, self.now_ms) or not len(positions):
            return
        first, last = self._span(start_ms, end_ms)
        slots = np.array(self._slots[first:last])
        self._free[slots[:, None, None], np.arange(len(amounts))[:, None], positions] -= amounts
        if gpu.any():
            self._gpu[slots[:, None], positions] -= gpu
            self._refresh_gpu_rows(slots, positions)
        self._totals[slots] = np.maximum(self._free[slots], 0).sum(axis=2)
        self._falls[first] |= first > 0

    def _shift(self, held: list[Held], start_ms: int, end_ms: int, sign: int) -> int:
        first, last = self._span(start_ms, end_ms)
        slots = np.array(self._slots[first:last])
        for demand, positions in _by_demand(held):
            at, counts = np.unique(positions, return_counts=True)
            taken = np.flatnonzero(demand.take)
            amounts = sign * demand.take[taken, None] * counts
            before = self._free[slots[:, None, None], taken[:, None], at]
            after = self._free[slots[:, None, None], taken[:, None], at] = before + amounts
            self._totals[slots[:, None], taken] += (np.maximum(after, 0) - np.maximum(before, 0)).sum(axis=2)
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

    def _span(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """Segments from start to end, cut so that both are borders."""
        first = self._border(max(start_ms, self.now_ms))
        return first, len(self._times) if end_ms >= FOREVER_MS else self._border(end_ms)

    def _border(self, time_ms: int) -> int:
        at = bisect_left(self._times, time_ms)
        if at < len(self._times) and self._times[at] == time_ms:
            return at
        slot = len(self._times)
        if slot == len(self._free):
            self._free = np.concatenate([self._free, np.empty_like(self._free)])
            self._gpu = np.concatenate([self._gpu, np.empty_like(self._gpu)])
            self._totals = np.concatenate([self._totals, np.empty_like(self._totals)])
        before = self._slots[at - 1]
        self._free[slot] = self._free[before]
        self._gpu[slot] = self._gpu[before]
        self._totals[slot] = self._totals[before]
        self._times.insert(at, time_ms)
        self._slots.insert(at, slot)
        self._falls.insert(at, False)
        return at

    # -- questions

    def room(self, start_ms: int, end_ms: int) -> Room:
        """What is free on each node all the time from start to end."""
        slots = self._telling(start_ms, end_ms)
        if len(slots) == 1:
            return Room(self._free[slots[0]].copy(), self._gpu[slots[0]].copy())
        free = self._free[slots].min(axis=0)
        gpu = self._gpu[slots].min(axis=0)
        if gpu.size:
            # The least of each device at any time: the rows that are derived follow from that.
            for row, values in gpu_rows(gpu):
                free[row] = values
        return Room(free, gpu)

    def _telling(self, start_ms: int, end_ms: int) -> list[int]:
        """Slots of the segments in which the least of a period is found."""
        first = bisect_right(self._times, max(start_ms, self.now_ms)) - 1
        last = bisect_left(self._times, end_ms)
        return [self._slots[first]] + [self._slots[at] for at in range(first + 1, last) if self._falls[at]]

    def starts(self, need: Int64s, length_ms: int, not_before_ms: int, latest_ms: int) -> Iterator[int]:
        """Moments worth trying, the earliest first: from each of them the cluster as a whole has at
        least so much free for so long."""
        times = np.array(self._times)
        enough = (self._totals[self._slots] >= need).all(axis=1)
        short = np.flatnonzero(~enough)
        following = np.searchsorted(short, np.arange(len(times)))
        limits = np.append(times[short], FOREVER_MS)
        earliest = max(not_before_ms, self.now_ms)
        begins = np.maximum(times, earliest)
        ends = np.append(times[1:], FOREVER_MS)
        fits = enough & (ends > earliest) & (begins <= latest_ms)
        fits &= (limits[following] >= FOREVER_MS) | (begins + length_ms <= limits[following])
        yield from begins[fits].tolist()

    def is_overbooked(self) -> bool:
        """Whether any node holds more than it has at any time: for tests and assertions."""
        slots = self._slots
        return bool((self._free[slots] < 0).any() or (self._gpu[slots] < 0).any())


def _by_demand(held: list[Held]) -> Iterable[tuple[Demand, list[int]]]:
    """Positions of tasks that ask for the same: most tasks of a job do."""
    found: dict[int, tuple[Demand, list[int]]] = {}
    for one in held:
        found.setdefault(id(one.demand), (one.demand, []))[1].append(one.position)
    return found.values()


def _rounded(moments: list[int], cells: int) -> list[int]:
    """At most so many of these moments that a timeline of them stays small, the last among them."""
    fewest, most = _MOMENTS
    allowed = min(most, max(fewest, _CELLS // max(1, cells)))
    if len(moments) <= allowed:
        return moments
    picked = np.linspace(0, len(moments) - 1, allowed).round().astype(np.int64)
    return [moments[at] for at in picked.tolist()]


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
) -> Iterable[int]:
    """Moments worth trying in all of them, the earliest first."""
    if len(lines) == 1:
        return lines[0].starts(need, length_ms, not_before_ms, latest_ms)
    return sorted({at for line in lines for at in line.starts(need, length_ms, not_before_ms, latest_ms)})
