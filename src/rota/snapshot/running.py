"""Running tasks as columns: what preemption sorts and sums over."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, Placement
from rota.snapshot.arrays import Int32s, Int64s

_KINDS_KEPT = 64
"""Kinds that no longer run are forgotten once they are more than this and than those that do."""


@dataclass(frozen=True)
class RunningTask:
    job: Job
    placement: Placement
    done: int = 0
    """How many tasks of the job have ended well: they count towards its gang's size."""


@dataclass(frozen=True, eq=False)
class RunningColumns:
    """One position a running task, in the order of job id and rank."""

    tasks: Sequence[RunningTask]
    node: Int32s
    spec: Int32s
    """Index into `kinds`."""
    started_ms: Int64s
    rank: Int64s
    job: Int32s
    """Index into `jobs`."""
    jobs: tuple[Job, ...]
    min_running: Int64s
    """Of each job, how many tasks must run on for it to go on."""
    kinds: tuple[tuple[JobTemplate, int], ...]
    """Template and group: all tasks of a kind ask for the same and have the same priority."""

    def __len__(self) -> int:
        return len(self.tasks)


def build_running(tasks: Sequence[RunningTask], position: dict[NodeName, int]) -> RunningColumns:
    """Of tasks on nodes that exist."""
    by_job: dict[JobId, list[RunningTask]] = {}
    for task in tasks:
        by_job.setdefault(task.job.id, []).append(task)
    index = RunningIndex(position)
    index.change(by_job)
    return index.columns()


class RunningIndex:
    """Keeps the columns up to date: what a change costs in Python depends on the change alone, and
    what it costs in NumPy on the number of tasks. The columns are always those of a fresh start."""

    def __init__(self, position: dict[NodeName, int]) -> None:
        self._position = position
        self._jobs: NDArray[np.object_] = np.empty(0, np.object_)
        """By id."""
        self._task_count = np.empty(0, np.int64)
        """Of each job, like the next."""
        self._min_running = np.empty(0, np.int64)
        self._tasks: NDArray[np.object_] = np.empty(0, np.object_)
        """By job and rank, like all that follow."""
        self._node = np.empty(0, np.int32)
        self._kind = np.empty(0, np.int64)
        self._started_ms = np.empty(0, np.int64)
        self._rank = np.empty(0, np.int64)
        self._number_of_kind: dict[tuple[JobTemplate, int], int] = {}
        """Also of some kinds that no longer run."""

    def change(self, tasks_of: Mapping[JobId, Sequence[RunningTask]]) -> None:
        """Of each job that has changed, all tasks that run now, by rank; it may be none."""
        self._remove(tasks_of)
        self._add([(job_id, tasks_of[job_id]) for job_id in sorted(tasks_of) if tasks_of[job_id]])

    def columns(self) -> RunningColumns:
        kind, kinds = self._kinds()
        job = np.repeat(np.arange(len(self._jobs), dtype=np.int32), self._task_count)
        return RunningColumns(
            self._tasks.tolist(),
            self._node,
            kind,
            self._started_ms,
            self._rank,
            job,
            tuple(self._jobs.tolist()),
            self._min_running,
            kinds,
        )

    def _remove(self, job_ids: Iterable[JobId]) -> None:
        staying = np.ones(len(self._jobs), np.bool_)
        for job_id in job_ids:
            at = self._find(job_id)
            if at < len(self._jobs) and self._jobs[at].id == job_id:
                staying[at] = False
        if staying.all():
            return
        tasks = np.repeat(staying, self._task_count)
        self._jobs, self._task_count = self._jobs[staying], self._task_count[staying]
        self._min_running = self._min_running[staying]
        self._tasks, self._node, self._kind = self._tasks[tasks], self._node[tasks], self._kind[tasks]
        self._started_ms, self._rank = self._started_ms[tasks], self._rank[tasks]

    def _add(self, added: list[tuple[JobId, Sequence[RunningTask]]]) -> None:
        """Jobs that aren't there, by id."""
        if not added:
            return
        first = np.append(0, np.cumsum(self._task_count))
        slots = np.array([self._find(job_id) for job_id, _ in added])
        counts = np.array([len(tasks) for _, tasks in added])
        tasks = [task for _, some in added for task in some]
        jobs = [some[0].job for _, some in added]
        least = [max(1, some[0].job.template.min_count - some[0].done) for _, some in added]

        among = _merge_order(len(self._jobs), slots)
        self._jobs = np.concatenate([self._jobs, _objects(jobs)])[among]
        self._task_count = np.concatenate([self._task_count, counts])[among]
        self._min_running = np.concatenate([self._min_running, np.array(least, np.int64)])[among]

        among = _merge_order(len(self._tasks), np.repeat(first[slots], counts))
        node = np.array([self._position[task.placement.node] for task in tasks], np.int32)
        started = np.array([task.placement.started_ms for task in tasks], np.int64)
        rank = np.array([task.placement.rank for task in tasks], np.int64)
        kind = np.array([self._number(task) for task in tasks], np.int64)
        self._tasks = np.concatenate([self._tasks, _objects(tasks)])[among]
        self._node = np.concatenate([self._node, node])[among]
        self._started_ms = np.concatenate([self._started_ms, started])[among]
        self._rank = np.concatenate([self._rank, rank])[among]
        self._kind = np.concatenate([self._kind, kind])[among]

    def _find(self, job_id: JobId) -> int:
        """Where the job is, or else would be."""
        return bisect_left(self._jobs, job_id, key=_id_of)

    def _number(self, task: RunningTask) -> int:
        kind = (task.job.template, task.job.group_of(task.placement.rank))
        return self._number_of_kind.setdefault(kind, len(self._number_of_kind))

    def _kinds(self) -> tuple[Int32s, tuple[tuple[JobTemplate, int], ...]]:
        """The kinds that run, in the order in which they first come, and each task's among these."""
        count = len(self._kind)
        first = np.full(len(self._number_of_kind), count)
        # Of several values for one place NumPy keeps the last: backwards, that is the first.
        first[self._kind[::-1]] = np.arange(count - 1, -1, -1)
        order = np.argsort(first, kind="stable")[: int((first < count).sum())]
        number = np.zeros(len(first), np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        known = list(self._number_of_kind)
        kinds = tuple(known[at] for at in order.tolist())
        columns = number[self._kind]
        if len(known) > 2 * len(kinds) + _KINDS_KEPT:
            self._number_of_kind = {kind: at for at, kind in enumerate(kinds)}
            self._kind = columns.astype(np.int64)
        return columns, kinds


def _id_of(job: Job) -> JobId:
    return job.id


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column


def _merge_order(count: int, slots: Int64s) -> Int64s:
    """Indices that put values which are appended to `count` others before those at the slots."""
    return np.insert(np.arange(count), slots, np.arange(count, count + len(slots)))
