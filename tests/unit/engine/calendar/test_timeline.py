"""The timeline against one that is kept moment by moment, and its edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rota.engine.calendar.timeline import FOREVER_MS, NO_ENDS, Holding, Timeline, room_in, starts
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.snapshot import rows
from rota.snapshot.demand import Demand, demand_of
from rota.snapshot.rows import ResourceRows

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NODES, DEVICES, NOW, LAST = 2, 2, 10, 20
INDEX = ResourceRows(())
DEMANDS = tuple(
    demand_of(spec, INDEX)
    for spec in (
        TaskSpec(Resources(1)),
        TaskSpec(Resources(2)),
        TaskSpec(Resources(1), exclusive=True),
        TaskSpec(Resources(1), gpu=GpuRequest(1)),
        TaskSpec(Resources(1), gpu=GpuRequest(1, 400)),
    )
)

MOMENTS = (0, NOW, NOW, 12, 13, 15, LAST, FOREVER_MS)
"""Before now, now, later, and never."""


class Taken(NamedTuple):
    held: tuple[Holding, ...]
    start_ms: int
    end_ms: int


class Block(NamedTuple):
    """Rows of some nodes."""

    positions: Int64s
    amounts: Int64s
    gpu: Int32s
    start_ms: int
    end_ms: int


@st.composite
def tasks(draw: st.DrawFn) -> Holding:
    demand = draw(st.sampled_from(DEMANDS))
    devices = (draw(st.integers(0, DEVICES - 1)),) if demand.uses_gpu else ()
    return Holding(draw(st.integers(0, NODES - 1)), demand, devices)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    """In order or not, and sometimes of no length."""
    return draw(st.sampled_from(MOMENTS)), draw(st.sampled_from(MOMENTS))


taken = st.builds(lambda held, span: Taken(tuple(held), *span), st.lists(tasks(), max_size=3), spans())


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    positions = np.array(sorted(draw(st.sets(st.integers(0, NODES - 1)))), dtype=np.int64)
    amounts = np.zeros((len(INDEX), len(positions)), dtype=np.int64)
    amounts[rows.CPU] = draw(st.integers(0, 5))
    amounts[rows.SHARES] = draw(st.sampled_from((0, 1, rows.NODE_SHARES)))
    gpu = np.zeros((len(positions), DEVICES), dtype=np.int32)
    gpu[:, draw(st.integers(0, DEVICES - 1)) :] = draw(st.sampled_from((0, WHOLE_GPU_MILLI)))
    return Block(positions, amounts, gpu, *draw(spans()))


class Naive:
    """What is free at each moment from now on, one after another."""

    def __init__(self, cpu: Iterable[int]) -> None:
        cpus = list(cpu)
        self.free = np.zeros((LAST + 2, len(INDEX), NODES), dtype=np.int64)
        self.free[:, rows.CPU] = cpus
        self.free[:, rows.SLOTS] = 9
        self.free[:, rows.SHARES] = rows.NODE_SHARES
        self.gpu = np.full((LAST + 2, NODES, DEVICES), WHOLE_GPU_MILLI, dtype=np.int32)
        self.follow()

    def follow(self) -> None:
        for moment in range(len(self.free)):
            follow_devices(self.free[moment], self.gpu[moment])

    def shift(self, held: Iterable[Holding], start_ms: int, end_ms: int, sign: int) -> None:
        for moment in self._moments(start_ms, end_ms):
            for one in held:
                self.free[moment, :, one.position] += sign * one.demand.take
                for device in one.devices:
                    self.gpu[moment, one.position, device] += sign * one.demand.gpu.share_milli
        self.follow()

    def take_block(self, block: Block) -> None:
        for moment in self._moments(block.start_ms, block.end_ms):
            self.free[moment][:, block.positions] -= block.amounts
            self.gpu[moment][block.positions] -= block.gpu
        self.follow()

    def _moments(self, start_ms: int, end_ms: int) -> range:
        return range(max(start_ms, NOW), min(end_ms, LAST + 2))

    def room(self, start_ms: int, end_ms: int) -> tuple[Int64s, Int32s]:
        """At the moment of a start at least, be it of no length."""
        first = min(max(start_ms, NOW), LAST + 1)
        moments = slice(first, max(first + 1, min(end_ms, LAST + 2)))
        free, gpu = self.free[moments].min(axis=0), self.gpu[moments].min(axis=0)
        follow_devices(free, gpu)
        return free, gpu

    def has_enough(self, need: Int64s, start_ms: int, length_ms: int) -> bool:
        """Whether the cluster as a whole has so much for so long."""
        last = max(start_ms + 1, min(start_ms + length_ms, LAST + 2))
        totals = np.maximum(self.free[start_ms:last], 0).sum(axis=2)
        return bool((totals >= need).all())


def follow_devices(free: Int64s, gpu: Int32s) -> None:
    for node in range(NODES):
        devices = gpu[node].tolist()
        free[rows.GPU_MILLI, node] = sum(max(0, left) for left in devices)
        free[rows.GPU_IDLE, node] = sum(left >= WHOLE_GPU_MILLI for left in devices)
        free[rows.GPU_BEST, node] = max(0, *devices)


@st.composite
def both(draw: st.DrawFn) -> tuple[Timeline, Naive]:
    """A timeline and a naive one to which the same has happened."""
    naive = Naive(draw(st.lists(st.integers(-2, 6), min_size=NODES, max_size=NODES)))
    running = draw(st.lists(st.tuples(st.sampled_from((11, 12, 15, FOREVER_MS)), tasks()), max_size=4))
    for _, held in running:
        naive.shift([held], NOW, FOREVER_MS, -1)
    line = Timeline(naive.free[NOW].copy(), naive.gpu[NOW].copy(), NOW)
    line.end_running(NO_ENDS.and_of(running))
    for end_ms, held in running:
        naive.shift([held], end_ms, FOREVER_MS, 1)
    done: list[Taken] = []
    for step in draw(st.lists(st.one_of(taken, blocks(), st.just("back")), max_size=6)):
        match step:
            case Taken():
                line.take(*step)
                naive.shift(*step, -1)
                done.append(step)
            case Block():
                line.take_rows(*step)
                naive.take_block(step)
            case _ if done:
                line.give_back(*done[-1])
                naive.shift(*done.pop(), 1)
    return line, naive


@pytest.mark.covers("time-3")
@given(both(), spans())
def test_room_is_the_least_of_every_moment(lines: tuple[Timeline, Naive], span: tuple[int, int]) -> None:
    line, naive = lines
    room, (free, gpu) = line.room(*span), naive.room(*span)
    assert room.free.tolist() == free.tolist()
    assert room.gpu_free.tolist() == gpu.tolist()


@pytest.mark.covers("time-3")
@given(
    both(), st.sampled_from(DEMANDS), st.integers(1, 3), st.sampled_from((0, 1, 2, 5, FOREVER_MS)), spans()
)
def test_no_start_is_missed_and_none_comes_too_early(
    lines: tuple[Timeline, Naive], demand: Demand, count: int, length_ms: int, span: tuple[int, int]
) -> None:
    line, naive = lines
    need: Int64s = count * demand.take
    not_before, latest = span
    found = list(line.starts(need, length_ms, not_before, latest))
    every = range(max(not_before, NOW), min(latest, LAST) + 1)
    possible = [at for at in every if naive.has_enough(need, at, length_ms)]
    assert found == sorted(found)
    assert found[:1] == possible[:1]
    assert set(found) <= set(possible)


@pytest.mark.covers("time-3")
@given(both())
def test_it_is_overbooked_if_any_moment_is(lines: tuple[Timeline, Naive]) -> None:
    line, naive = lines
    amounts = [row for row in range(len(INDEX)) if row not in (rows.GPU_MILLI, rows.GPU_BEST)]
    expected = (naive.free[NOW:, amounts] < 0).any() or (naive.gpu[NOW:] < 0).any()
    assert line.is_overbooked() == bool(expected)


@pytest.mark.covers("time-4")
@given(both(), both(), spans(), st.sampled_from((1, 3)))
def test_two_lines_give_what_is_free_in_both(
    one: tuple[Timeline, Naive], other: tuple[Timeline, Naive], span: tuple[int, int], length_ms: int
) -> None:
    lines = [one[0], other[0]]
    room, rooms = room_in(lines, *span), [naive.room(*span) for _, naive in (one, other)]
    gpu = np.minimum(rooms[0][1], rooms[1][1])
    free = np.minimum(rooms[0][0], rooms[1][0])
    follow_devices(free, gpu)
    assert room.free.tolist() == free.tolist()
    need = DEMANDS[0].take
    found = list(starts(lines, need, length_ms, NOW, LAST))
    possible = [
        at
        for at in range(NOW, LAST + 1)
        if all(naive.has_enough(need, at, length_ms) for _, naive in (one, other))
    ]
    assert found == sorted(found)
    assert set(possible[:1]) <= set(found)


def line_of(cpu: int, now_ms: int = NOW) -> Timeline:
    free = np.zeros((len(INDEX), 1), dtype=np.int64)
    free[rows.CPU], free[rows.SLOTS], free[rows.SHARES] = cpu, 9, rows.NODE_SHARES
    return Timeline(free, np.zeros((1, 0), dtype=np.int32), now_ms)


def cpu_at(line: Timeline, start_ms: int, end_ms: int) -> int:
    return int(line.room(start_ms, end_ms).free[rows.CPU, 0])


ONE = Holding(0, DEMANDS[0], ())


class TestEdges:
    def test_an_entry_ends_where_the_next_begins(self) -> None:
        line = line_of(1)
        line.take([ONE], 10, 12)
        line.take([ONE], 12, 15)
        assert not line.is_overbooked()
        assert list(line.starts(DEMANDS[0].take, 1, 0, FOREVER_MS)) == [15]

    def test_an_entry_of_no_length_takes_nothing(self) -> None:
        line = line_of(1)
        line.take([ONE], 12, 12)
        line.take([ONE], 15, 13)
        assert line.only_rises
        assert cpu_at(line, NOW, FOREVER_MS) == 1

    def test_what_is_over_takes_nothing(self) -> None:
        line = line_of(1)
        line.take([ONE], 1, NOW)
        assert cpu_at(line, 1, FOREVER_MS) == 1

    def test_what_has_begun_counts_from_now_on(self) -> None:
        line = line_of(1)
        line.take([ONE], 1, NOW + 1)
        assert (cpu_at(line, NOW, NOW + 1), cpu_at(line, NOW + 1, NOW + 2)) == (0, 1)

    def test_what_never_ends_and_what_lasts_for_centuries(self) -> None:
        century = 100 * 365 * 24 * 3600 * 1000
        line = line_of(2)
        line.take([ONE], 12, 12 + FOREVER_MS)
        line.take([ONE], 12, 12 + century)
        need = DEMANDS[0].take
        assert list(line.starts(need, FOREVER_MS, NOW, FOREVER_MS)) == [12 + century]
        assert list(line.starts(2 * need, 2, NOW, FOREVER_MS)) == [NOW]

    def test_many_different_ends_are_rounded_up_and_the_last_is_kept(self) -> None:
        line = line_of(0)
        line.end_running(NO_ENDS.and_of([(NOW + number, ONE) for number in range(1, 2001)]))
        moments = list(line.starts(DEMANDS[0].take, 1, NOW, FOREVER_MS))
        assert 32 <= len(moments) <= 512
        assert moments[-1] == NOW + 2000
        for moment in moments[:: len(moments) // 7]:
            assert cpu_at(line, moment, moment + 1) <= moment - NOW

    def test_more_segments_than_there_was_space_for(self) -> None:
        line = line_of(100)
        for number in range(50):
            line.take([ONE], 1000 - number, 2000 - number)
        assert cpu_at(line, 990, 991) == 100 - 40
        assert cpu_at(line, NOW, FOREVER_MS) == 50
