"""Waiting jobs, in lanes of equal ones.

Jobs that the engine can't tell apart share a lane, first come first. The engine merges the heads
of the lanes, so one that can't start is judged once however many jobs wait behind it, and
nothing it does depends on the number of jobs that wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    return replace(key, template=template)


def _age(job: Job) -> tuple[int, int, str]:
    return job.submitted_ms, job.number, job.id


class Lane:
    """Equal jobs, oldest first."""

    def __init__(self, key: LaneKey, number: int) -> None:
        self.key = key
        self.number = number
        self._jobs: list[Job] = []
        self._head = 0
        self._gone: set[JobId] = set()
        """Removed from the middle, and still in the list until somebody looks at it."""

    def __len__(self) -> int:
        return len(self._jobs) - self._head - len(self._gone)

    def add(self, job: Job) -> None:
        """In constant time for a job younger than those that wait, as jobs that come in are."""
        if job.id in self._gone:
            self._tidy()
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
                del self._jobs[: self._head]
                self._head = 0
        else:
            self._gone.add(job.id)

    def view(self) -> tuple[list[Job], int]:
        """A list of the jobs, oldest first, and the index where they begin."""
        if self._gone:
            self._tidy()
        return self._jobs, self._head

    def _tidy(self) -> None:
        self._jobs = [job for job in self._jobs[self._head :] if job.id not in self._gone]
        self._head = 0
        self._gone.clear()


class WaitingJobs:
    """Adding and discarding cost the same however many wait; a look at a lane costs its length once
    after jobs were taken from its middle."""

    def __init__(self) -> None:
        self._lanes: dict[LaneKey, Lane] = {}
        self._count = 0
        self._next_number = 0
        self.task_count = 0

    def __len__(self) -> int:
        return self._count

    def lanes(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

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
            lane = self._lanes[key] = Lane(key, self._next_number)
            self._next_number += 1
        lane.add(job)
        self._count += 1
        self.task_count += key.task_count
        return lane.key

    def discard(self, job: Job, key: LaneKey) -> None:
        lane = self._lanes[key]
        lane.discard(job)
        self._count -= 1
        self.task_count -= key.task_count
        if not len(lane):
            del self._lanes[key]
