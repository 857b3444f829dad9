"""Who is next: lanes of waiting jobs merged by a queue's strategy.

The heads of the lanes lie in a heap; serving a job costs the logarithm of the number of lanes,
whatever the number of jobs. A run is a stretch of equal jobs that nobody comes between.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rota.engine.tenants.fairshare import Shares, user_path
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, Priority
from rota.model.policy import Promotion, QueuePolicy, QueueStrategy, TenantKey
from rota.snapshot.waiting import Lane

_CLASSES = sorted(int(priority) for priority in Priority)

_PATIENCE_MS = 3_600_000
"""A job that has waited for this long is as urgent as one of half its size that just came."""

Key = tuple[int, int, int, int, JobId]


def effective_priority(template: JobTemplate, retries: int, waited_ms: int, promotion: Promotion) -> int:
    """The priority after promotion. It never falls while a job lives, since waiting time and
    retries only grow: that is what rules out two jobs evicting each other for ever."""
    own = template.priority
    if own >= promotion.up_to:
        return own
    if promotion.retry_budget is not None and retries >= promotion.retry_budget:
        return promotion.up_to
    if not promotion.every_ms:
        return own
    steps = max(0, waited_ms) // promotion.every_ms
    rungs = [own, *(value for value in _CLASSES if own < value < promotion.up_to), promotion.up_to]
    return rungs[min(steps, len(rungs) - 1)]


def tenant_path(template: JobTemplate, key: TenantKey) -> tuple[str, ...]:
    match key:
        case TenantKey.PROJECT:
            return (template.project,)
        case TenantKey.USER:
            return user_path(template.user)
        case TenantKey.PROJECT_USER:
            return (template.project, template.user)


@dataclass(eq=False)
class Cursor:
    """A lane and how far this cycle has come in it."""

    lane: Lane
    jobs: list[Job]
    at: int
    now_ms: int
    promotion: Promotion
    by_priority: bool
    size: int = 0
    """Where small jobs go first: it counts the less the longer a job waits, so that none starves."""

    def __post_init__(self) -> None:
        key = self.lane.key
        self._settled: int | None = None
        if self.promotion.every_ms is None:
            # Without aging all jobs of a lane have the same priority.
            self._settled = effective_priority(key.template, key.retries, 0, self.promotion)

    def key(self, at: int) -> Key:
        job = self.jobs[at]
        size = self.size // (max(0, self.now_ms - job.submitted_ms) + _PATIENCE_MS) if self.size else 0
        return -self.priority(at) if self.by_priority else 0, size, job.submitted_ms, job.number, job.id

    def priority(self, at: int) -> int:
        if self._settled is not None:
            return self._settled
        job = self.jobs[at]
        return effective_priority(job.template, job.retries, self.now_ms - job.submitted_ms, self.promotion)

    @property
    def exhausted(self) -> bool:
        return self.at >= len(self.jobs)

    def ahead_of(self, rival: Key | None) -> int:
        """How many jobs from here on come before the rival's."""
        if rival is None:
            return len(self.jobs) - self.at
        if self.at + 1 < len(self.jobs) and self.key(self.at + 1) > rival:
            return 1
        return bisect_left(range(len(self.jobs)), rival, lo=self.at, key=self.key) - self.at


@dataclass(eq=False, slots=True)
class Run:
    """Equal jobs that are next, one after another. `served` says how many were dealt with."""

    cursor: Cursor
    length: int

    @property
    def head(self) -> Job:
        return self.cursor.jobs[self.cursor.at]

    @property
    def priority(self) -> int:
        return self.cursor.priority(self.cursor.at)

    def jobs(self, count: int) -> list[Job]:
        return self.cursor.jobs[self.cursor.at : self.cursor.at + count]


class Order(Protocol):
    def next(self) -> Run | None: ...

    def served(self, run: Run, count: int) -> None:
        """So many jobs of the run are placed; the rest is next again."""
        ...

    def drop(self, run: Run) -> None:
        """Nothing of this lane can start now."""
        ...


class Merged:
    """First come first, or by priority and then first come."""

    def __init__(self, cursors: Iterable[Cursor]) -> None:
        self._heap = [(cursor.key(cursor.at), cursor) for cursor in cursors if not cursor.exhausted]
        heapq.heapify(self._heap)

    def next(self) -> Run | None:
        if not self._heap:
            return None
        cursor = self._heap[0][1]
        rivals = self._heap[1:3]
        return Run(cursor, cursor.ahead_of(min(rivals)[0] if rivals else None))

    def served(self, run: Run, count: int) -> None:
        cursor = run.cursor
        cursor.at += count
        if cursor.exhausted:
            heapq.heappop(self._heap)
        else:
            heapq.heapreplace(self._heap, (cursor.key(cursor.at), cursor))

    def drop(self, run: Run) -> None:
        heapq.heappop(self._heap)


class _Tenant:
    """A leaf of the tree: one tenant's own lanes, by priority."""

    def __init__(self, path: tuple[str, ...], cursors: list[Cursor]) -> None:
        self.path = path
        self.lanes = Merged(cursors)


class Fair:
    """The tenant with the least share of its due comes next: project first, then user within it.

    The tree is walked from the top: each level is a heap by (share, name). Shares rise only for
    those who were just served, so replacing the top of each heap keeps the order right.
    """

    def __init__(self, cursors: Iterable[Cursor], key: TenantKey, shares: Shares) -> None:
        self._shares = shares
        by_top: dict[str, dict[tuple[str, ...], list[Cursor]]] = {}
        for cursor in cursors:
            path = tenant_path(cursor.lane.key.template, key)
            by_top.setdefault(path[0], {}).setdefault(path, []).append(cursor)
        self._tops: list[tuple[float, str, list[tuple[float, tuple[str, ...], _Tenant]]]] = []
        for top, leaves in by_top.items():
            inner = [(shares.of(path), path, _Tenant(path, lanes)) for path, lanes in leaves.items()]
            heapq.heapify(inner)
            self._tops.append((shares.of((top,)), top, inner))
        heapq.heapify(self._tops)
        self._epoch = shares.epoch

    def next(self) -> Run | None:
        if self._shares.epoch != self._epoch:
            self._rebuild()
        while self._tops:
            _, _, leaves = self._tops[0]
            while leaves:
                run = leaves[0][2].lanes.next()
                if run is not None:
                    return Run(run.cursor, 1)
                heapq.heappop(leaves)
            heapq.heappop(self._tops)
        return None

    def served(self, run: Run, count: int) -> None:
        _, top, leaves = self._tops[0]
        _, path, tenant = leaves[0]
        tenant.lanes.served(run, count)
        heapq.heapreplace(leaves, (self._shares.of(path), path, tenant))
        heapq.heapreplace(self._tops, (self._shares.of((top,)), top, leaves))

    def drop(self, run: Run) -> None:
        self._tops[0][2][0][2].lanes.drop(run)

    def _rebuild(self) -> None:
        """After evictions shares have fallen, too: the heaps are made anew."""
        self._epoch = self._shares.epoch
        rebuilt = []
        for _, top, leaves in self._tops:
            inner = [(self._shares.of(path), path, tenant) for _, path, tenant in leaves]
            heapq.heapify(inner)
            rebuilt.append((self._shares.of((top,)), top, inner))
        heapq.heapify(rebuilt)
        self._tops = rebuilt


def order_of(cursors: Iterable[Cursor], queue: QueuePolicy, shares: Shares) -> Order:
    if queue.strategy is QueueStrategy.FAIR:
        return Fair(cursors, queue.tenant_key, shares)
    return Merged(cursors)
