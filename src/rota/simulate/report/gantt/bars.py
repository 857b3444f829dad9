"""From a job's tasks to bars, and from a node's bars to lanes in which none covers another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from rota.model.ids import NodeName
from rota.simulate.result import JobResult, SimResult


@dataclass(frozen=True)
class Bar:
    """Tasks of one job that ran on one node at the same time."""

    job: JobResult
    node: NodeName
    start_ms: int
    end_ms: int
    evicted: bool
    tasks: int


def bars_of(result: SimResult) -> list[Bar]:
    return [
        Bar(job, node, start_ms, end_ms, evicted, tasks)
        for job in result.jobs
        for (node, start_ms, end_ms, evicted), tasks in Counter(
            (one.node, one.start_ms, one.end_ms, one.evicted) for one in job.stretches
        ).items()
    ]


def lanes_of(bars: Iterable[Bar]) -> tuple[tuple[Bar, ...], ...]:
    """As few as hold all bars of a node; each bar in the first lane that is free."""
    lanes: list[list[Bar]] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start_ms, bar.end_ms, bar.job.job)):
        while busy and busy[0][0] <= bar.start_ms:
            heappush(free, heappop(busy)[1])
        if not free:
            lanes.append([])
            heappush(free, len(lanes) - 1)
        lane = heappop(free)
        lanes[lane].append(bar)
        heappush(busy, (bar.end_ms, lane))
    return tuple(map(tuple, lanes))
