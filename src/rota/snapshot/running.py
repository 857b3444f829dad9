"""Running tasks as columns: what preemption sorts and sums over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, Placement

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


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
    """Tasks must be ordered by job id and rank, and lie on nodes that exist."""
    kinds: dict[tuple[JobTemplate, int], int] = {}
    jobs: dict[JobId, int] = {}
    distinct: list[Job] = []
    min_running: list[int] = []
    count = len(tasks)
    node = np.empty(count, np.int32)
    spec = np.empty(count, np.int32)
    started = np.empty(count, np.int64)
    rank = np.empty(count, np.int64)
    job_index = np.empty(count, np.int32)
    for at, task in enumerate(tasks):
        job = task.job
        number = jobs.get(job.id)
        if number is None:
            number = jobs[job.id] = len(distinct)
            distinct.append(job)
            min_running.append(max(1, job.template.min_count - task.done))
        job_index[at] = number
        node[at] = position[task.placement.node]
        started[at] = task.placement.started_ms
        rank[at] = task.placement.rank
        kind = (job.template, job.group_of(task.placement.rank))
        spec[at] = kinds.setdefault(kind, len(kinds))
    least = np.array(min_running, dtype=np.int64)
    return RunningColumns(tasks, node, spec, started, rank, job_index, tuple(distinct), least, tuple(kinds))
