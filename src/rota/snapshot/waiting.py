"""Waiting jobs, in lanes of equal ones.

Jobs that the engine can't tell apart share a lane, first come first. The engine merges the heads
of the lanes, so one that can't start is judged once however many jobs wait behind it, and
nothing it does depends on the number of jobs that wait.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate


@dataclass(frozen=True)
class LaneKey:
    template: JobTemplate
    retries: int
    preempted_by: tuple[JobId, ...]
    ranks: tuple[int, ...] | None
    """Which tasks wait; None: all of them, in other words a job of which nothing runs."""
    placed: int
    """How many of its tasks run already: they count towards the gang's size."""
    job: JobId | None = None
    """A job is alone in its lane if where or when it may start is a matter of its own: some of it
    runs, it was promised a start, or it must start in a period."""

    @property
    def waiting_by_group(self) -> tuple[int, ...]:
        if self.ranks is None:
            return tuple(group.count for group in self.template.groups)
        return tuple(len(ranks) for ranks in self.ranks_by_group())

    def ranks_by_group(self) -> list[range | list[int]]:
        """The ranks that wait, group by group."""
        groups = self.template.groups
        if self.ranks is not None:
            some: list[list[int]] = [[] for _ in groups]
            for rank in self.ranks:
                some[self.template.group_of(rank)].append(rank)
            return [*some]
        ends = accumulate(group.count for group in groups)
        return [range(end - group.count, end) for group, end in zip(groups, ends, strict=True)]

    @property
    def task_count(self) -> int:
        return self.template.task_count if self.ranks is None else len(self.ranks)

    @property
    def needed(self) -> int:
        """How many of the waiting tasks must start together, or none does."""
        return max(1, min(self.template.min_count - self.placed, self.task_count))


def replace_template(key: LaneKey, template: JobTemplate) -> LaneKey:
    return dataclasses.replace(key, template=template)


def _age(job: Job) -> tuple[int, int, str]:
    return job.submitted_ms, job.number, job.id


@dataclass(frozen=True, eq=False, slots=True)
class Lane:
    """Equal jobs, oldest first, as they were when it was frozen."""

    key: LaneKey
    number: int
    jobs: list[Job]
    """Never changed: a queue that goes on copies it first."""
    start: int

    def __len__(self) -> int:
        return len(self.jobs) - self.start

    def view(self) -> tuple[list[Job], int]:
        """A list of the jobs, oldest first, and the index where they begin."""
        return self.jobs, self.start


@dataclass(frozen=True, eq=False, slots=True)
class WaitingLanes:
    """Who waited when a snapshot was taken."""

    all: tuple[Lane, ...] = ()
    task_count: int = 0

    def __len__(self) -> int:
        return sum(len(lane) for lane in self.all)

    def lanes(self) -> Iterator[Lane]:
        return iter(self.all)

    def with_more(self, records: Iterable[JobRecord]) -> WaitingLanes:
        """With jobs that come behind all of these."""
        more = WaitingJobs()
        for record in records:
            more.add(record)
        lanes = {lane.key: lane for lane in self.all}
        next_number = 1 + max((lane.number for lane in self.all), default=-1)
        for lane in more.lanes():
            known = lanes.get(lane.key)
            if known is None:
                lanes[lane.key] = dataclasses.replace(lane, number=next_number + lane.number)
            else:
                jobs = known.jobs[known.start :] + lane.jobs[lane.start :]
                lanes[lane.key] = dataclasses.replace(known, jobs=jobs, start=0)
        return WaitingLanes(tuple(lanes.values()), self.task_count + more.task_count)


NOBODY_WAITS = WaitingLanes()


class _LaneQueue:
    """A lane as jobs come and go."""

    def __init__(self, key: LaneKey, number: int) -> None:
        self.key = key
        self.number = number
        self._jobs: list[Job] = []
        self._is_shared = False
        """Frozen lanes have the list as well: it is copied before it is changed."""
        self._head = 0
        self._gone: set[JobId] = set()
        """Removed from the middle, and still in the list until somebody looks at it."""

    def __len__(self) -> int:
        return len(self._jobs) - self._head - len(self._gone)

    def add(self, job: Job) -> None:
        """In constant time for a job younger than those that wait, as jobs that come in are; the first after
        a snapshot copies the list, which costs far less than the snapshot's decision."""
        if job.id in self._gone:
            self._tidy()
        if self._is_shared:
            self._move(self._jobs[self._head :])
        if not self._jobs or _age(self._jobs[-1]) < _age(job):
            self._jobs.append(job)
        else:
            self._jobs.insert(bisect_left(self._jobs, _age(job), lo=self._head, key=_age), job)

    def discard(self, job: Job) -> None:
        """In constant time, whether it is the oldest (the one that starts) or any other."""
        if self._jobs[self._head].id == job.id:
            self._head += 1
            while self._gone and self._head < len(self._jobs) and self._jobs[self._head].id in self._gone:
                self._gone.remove(self._jobs[self._head].id)
                self._head += 1
            if 2 * self._head > len(self._jobs) + 32:
                self._move(self._jobs[self._head :])
        else:
            self._gone.add(job.id)

    def frozen(self) -> Lane:
        if self._gone:
            self._tidy()
        self._is_shared = True
        return Lane(self.key, self.number, self._jobs, self._head)

    def _tidy(self) -> None:
        self._move([job for job in self._jobs[self._head :] if job.id not in self._gone])
        self._gone.clear()

    def _move(self, jobs: list[Job]) -> None:
        self._jobs, self._head, self._is_shared = jobs, 0, False


class WaitingJobs:
    """Adding and discarding cost the same however many wait; to freeze it costs what has changed since the
    last time, and the number of lanes."""

    def __init__(self) -> None:
        self._lanes: dict[LaneKey, _LaneQueue] = {}
        self._count = 0
        self._next_number = 0
        self._frozen: dict[int, Lane] = {}
        self._changed: dict[int, _LaneQueue] = {}
        """Since they were frozen."""
        self._latest = NOBODY_WAITS
        self.task_count = 0

    def __len__(self) -> int:
        return self._count

    def lanes(self) -> Iterator[Lane]:
        return self.frozen().lanes()

    def frozen(self) -> WaitingLanes:
        """As it is now, whatever comes and goes after; other threads may read it."""
        if self._changed or len(self._frozen) != len(self._latest.all):
            for number, lane in self._changed.items():
                self._frozen[number] = lane.frozen()
            self._changed.clear()
            self._latest = WaitingLanes(tuple(self._frozen.values()), self.task_count)
        return self._latest

    def add(self, record: JobRecord) -> LaneKey | None:
        """Queues what waits of the job; None: nothing does."""
        job = record.job
        ranks: tuple[int, ...] | None = None
        if record.placements or record.done:
            ranks = tuple(record.waiting_ranks())
            if not ranks:
                return None
        placed = len(record.placements) + len(record.done)
        alone = job.id if placed or record.promise or job.has_period else None
        key = LaneKey(job.template, job.retries, job.preempted_by, ranks, placed, alone)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _LaneQueue(key, self._next_number)
            self._next_number += 1
        lane.add(job)
        self._changed[lane.number] = lane
        self._count += 1
        self.task_count += key.task_count
        return lane.key

    def discard(self, job: Job, key: LaneKey) -> None:
        lane = self._lanes[key]
        lane.discard(job)
        self._count -= 1
        self.task_count -= key.task_count
        if len(lane):
            self._changed[lane.number] = lane
        else:
            del self._lanes[key]
            self._changed.pop(lane.number, None)
            self._frozen.pop(lane.number, None)
