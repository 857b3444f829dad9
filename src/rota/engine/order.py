"""Who is next: lanes of waiting jobs merged by a queue's strategy.

The heads of the lanes lie in a heap; serving a job costs the logarithm of the number of lanes,
whatever the number of jobs. A stretch is a number of equal jobs that nobody comes between.

All that is known of a queue's strategy is in this module: a new one needs its name in `model/policy.py`, and
its rank in `_RANKS` below.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from rota.engine.calendar.durations import Lengths, limit_ms
from rota.engine.scope import Turn, queue_of, queues_by_name, scheduler_for
from rota.engine.tenants.fairshare import Shares, label_path, user_path
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, Priority
from rota.model.policy import (
    Promotion,
    QueuePolicy,
    QueueStrategy,
    SchedulerPolicy,
    TenantKey,
    TenantLabel,
)
from rota.snapshot.nodes import PPM
from rota.snapshot.state import Snapshot
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


def tenant_path(template: JobTemplate, key: TenantKey | TenantLabel) -> tuple[str, ...]:
    match key:
        case TenantKey.PROJECT:
            return (template.project,)
        case TenantKey.USER:
            return user_path(template.user)
        case TenantKey.PROJECT_USER:
            return (template.project, template.user)
        case TenantLabel():
            return label_path(key, template)


@dataclass(frozen=True)
class Rank:
    """What counts before first come, first served; who has less is next. Along a lane, which holds equal jobs
    in the order in which they came, it must never fall."""

    of: Callable[[int, int], tuple[int, int]]
    """Of a job with this priority that has waited for so long, in milliseconds."""
    ages: bool = False
    """Whether it depends on how long a job has waited, besides by its priority."""


@dataclass(eq=False)
class Cursor:
    """A lane and how far this cycle has come in it."""

    lane: Lane
    jobs: list[Job]
    at: int
    now_ms: int
    promotion: Promotion
    rank: Rank

    def __post_init__(self) -> None:
        key = self.lane.key
        self._settled: int | None = None
        self._settled_rank: tuple[int, int] | None = None
        if self.promotion.every_ms is None:
            # Without aging all jobs of a lane have the same priority.
            self._settled = effective_priority(key.template, key.retries, 0, self.promotion)
            if not self.rank.ages:
                self._settled_rank = self.rank.of(self._settled, 0)

    def key(self, at: int) -> Key:
        job = self.jobs[at]
        first, second = self._settled_rank or self._rank(at)
        return first, second, job.submitted_ms, job.number, job.id

    def _rank(self, at: int) -> tuple[int, int]:
        return self.rank.of(self.priority(at), max(0, self.now_ms - self.jobs[at].submitted_ms))

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


FIRST_COME = Rank(lambda priority, waited_ms: (0, 0))
BY_PRIORITY = Rank(lambda priority, waited_ms: (-priority, 0))


def _smallest_first(template: JobTemplate, queue: QueuePolicy, snapshot: Snapshot) -> Rank:
    """By priority, then by expected run time × share of the cluster. The size counts the less the longer a
    job waits, so that none starves."""
    lengths = Lengths(queue.durations, snapshot.run_times)
    length_ms = min(lengths.expected_ms(template), limit_ms(template))
    size = length_ms * snapshot.nodes.share_ppm(template) * PPM
    return Rank(lambda priority, waited_ms: (-priority, size // (waited_ms + _PATIENCE_MS)), ages=True)


_RANKS: dict[QueueStrategy, Callable[[JobTemplate, QueuePolicy, Snapshot], Rank]] = {
    QueueStrategy.FIFO: lambda *_: FIRST_COME,
    QueueStrategy.PRIORITY: lambda *_: BY_PRIORITY,
    QueueStrategy.FAIR: lambda *_: BY_PRIORITY,
    QueueStrategy.SMALLEST: _smallest_first,
}


def cursor_of(lane: Lane, turn: Turn, snapshot: Snapshot, now_ms: int) -> Cursor:
    """A lane from its first job on, in the order of its queue. Interactive jobs are served as they come."""
    queue = turn.queue
    strategy = QueueStrategy.FIFO if queue.interactive else queue.strategy
    rank = _RANKS[strategy](lane.key.template, queue, snapshot)
    return Cursor(lane, *lane.view(), now_ms, turn.scheduler.promotion, rank)


@dataclass(eq=False, slots=True)
class Stretch:
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
    def next(self) -> Stretch | None: ...

    def served(self, stretch: Stretch, count: int) -> None:
        """So many jobs of the stretch are placed; the rest is next again."""
        ...

    def drop(self, stretch: Stretch) -> None:
        """Nothing of this lane can start now."""
        ...


class Merged:
    """First come first, or by priority and then first come."""

    def __init__(self, cursors: Iterable[Cursor]) -> None:
        self._heap = [(cursor.key(cursor.at), cursor) for cursor in cursors if not cursor.exhausted]
        heapq.heapify(self._heap)

    def next(self) -> Stretch | None:
        if not self._heap:
            return None
        cursor = self._heap[0][1]
        rivals = self._heap[1:3]
        return Stretch(cursor, cursor.ahead_of(min(rivals)[0] if rivals else None))

    def served(self, stretch: Stretch, count: int) -> None:
        cursor = stretch.cursor
        cursor.at += count
        if cursor.exhausted:
            heapq.heappop(self._heap)
        else:
            heapq.heapreplace(self._heap, (cursor.key(cursor.at), cursor))

    def drop(self, stretch: Stretch) -> None:
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

    def __init__(self, cursors: Iterable[Cursor], key: TenantKey | TenantLabel, shares: Shares) -> None:
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

    def next(self) -> Stretch | None:
        if self._shares.epoch != self._epoch:
            self._rebuild()
        while self._tops:
            _, _, leaves = self._tops[0]
            while leaves:
                stretch = leaves[0][2].lanes.next()
                if stretch is not None:
                    return Stretch(stretch.cursor, 1)
                heapq.heappop(leaves)
            heapq.heappop(self._tops)
        return None

    def served(self, stretch: Stretch, count: int) -> None:
        _, top, leaves = self._tops[0]
        _, path, tenant = leaves[0]
        tenant.lanes.served(stretch, count)
        heapq.heapreplace(leaves, (self._shares.of(path), path, tenant))
        heapq.heapreplace(self._tops, (self._shares.of((top,)), top, leaves))

    def drop(self, stretch: Stretch) -> None:
        self._tops[0][2][0][2].lanes.drop(stretch)

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


@dataclass(eq=False, slots=True)
class QueueLanes:
    """What waits in one queue."""

    turn: Turn
    lanes: list[Lane]


def queues_in_turn(
    lanes: Iterable[Lane], schedulers: tuple[SchedulerPolicy, ...]
) -> tuple[list[QueueLanes], list[Lane]]:
    """The queues in which something waits, in the order in which they are served; and the lanes of jobs that
    no scheduler is in charge of."""
    by_queue: dict[tuple[int, str], list[Lane]] = {}
    orphans = []
    for lane in lanes:
        scheduler = scheduler_for(lane.key.template, schedulers)
        if scheduler is None:
            orphans.append(lane)
        else:
            by_queue.setdefault((schedulers.index(scheduler), lane.key.template.queue), []).append(lane)
    known = {number: queues_by_name(schedulers[number]) for number in {number for number, _ in by_queue}}
    found = [(number, queue_of(name, known[number]), some) for (number, name), some in by_queue.items()]
    found.sort(key=lambda entry: (entry[0], entry[1].order, entry[1].name))
    return [QueueLanes(Turn(schedulers[number], queue), some) for number, queue, some in found], orphans


def order_of(cursors: Iterable[Cursor], queue: QueuePolicy, shares: Shares) -> Order:
    if queue.strategy is QueueStrategy.FAIR:
        return Fair(cursors, queue.tenant_key, shares)
    return Merged(cursors)
