"""Jobs and batches as sentences: what tests of the store are written in.

keep(store, job("17", project="vision"), job("18.0", phase="failed"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import json

from rota.lifecycle.state import EndReason, JobState, LiveTask, Phase, TaskEnd, TaskPhase
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.run import JobSpec, Run
from rota.store.store import Store
from rota.store.writing.batch import Attempt, Batch, EventRow
from tests.words import pairs, task

NO_LABELS: Mapping[str, str] = {}


def template(**fields: Any) -> JobTemplate:
    return JobTemplate((TaskGroup(task({"cpu": 1})),), **fields)


def job(
    id_: str,
    *,
    project: str = "default",
    user: str = "ada",
    queue: str = "default",
    name: str = "",
    phase: str = "pending",
    labels: Mapping[str, str] = NO_LABELS,
    command: tuple[str, ...] = ("true",),
    submitted_ms: int | None = None,
    ended_ms: int | None = None,
    spec: Mapping[str, Any] | None = None,
    **fields: Any,
) -> JobState:
    """Submitted at its number, and ended 1000 later if its phase says so."""
    number, dot, index = id_.partition(".")
    at_ms = int(number) if submitted_ms is None else submitted_ms
    if ended_ms is None and Phase(phase).is_terminal:
        ended_ms = at_ms + 1000
    return JobState(
        JobId(id_),
        int(number) + (int(index) if dot else 0),
        JobSpec(
            template(project=project, user=user, queue=QueueName(queue), labels=pairs(labels)),
            Run(command),
            name=name,
            array_index=int(index) if dot else None,
            **(spec or {}),
        ),
        at_ms,
        Phase(phase),
        changed_ms=at_ms,
        ended_ms=ended_ms,
        **fields,
    )


def event(kind: str, subject: str = "", project: str | None = None, **data: object) -> EventRow:
    return EventRow(5, kind, subject, project, "ada", json.encode(data))


def attempt(job_id: str, fence: int, **fields: Any) -> Attempt:
    return Attempt(JobId(job_id), 0, fence, NodeName("n1"), (), 10, **fields)


def keep(store: Store, *jobs: JobState) -> None:
    store.commit(Batch(jobs=list(jobs)))


def ids(jobs: list[JobState]) -> list[str]:
    return [str(one.id) for one in jobs]


EXITED = TaskEnd(EndReason.EXITED, exit_code=0)
RUNNING = LiveTask(0, 1, NodeName("n1"), TaskPhase.RUNNING, bound_ms=10, started_ms=11)
