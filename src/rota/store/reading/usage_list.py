"""What tasks held, from when to when: added up by the database."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from rota.model.task import TaskSpec
from rota.store.reading.rows import read_shared
from rota.store.sql.tables import attempts, jobs


class HeldTime(NamedTuple):
    """Of equal tasks."""

    project: str
    user: str
    queue: str
    task: TaskSpec
    tasks: int
    held_ms: int


def find_held(connection: Connection, since_ms: int, until_ms: int) -> list[HeldTime]:
    """Of jobs that are kept. What began before or goes on counts for the time between."""
    ended = func.coalesce(attempts.c.ended_ms, until_ms)
    begin = case((attempts.c.started_ms < since_ms, since_ms), else_=attempts.c.started_ms)
    end = case((ended > until_ms, until_ms), else_=ended)
    group = (jobs.c.spec, jobs.c.project, jobs.c.owner, jobs.c.queue, attempts.c.rank)
    rows = connection.execute(
        select(*group, func.count(), func.sum(end - begin))
        .join(jobs, jobs.c.key == attempts.c.job)
        .where(
            (jobs.c.ended_ms.is_(None)) | (jobs.c.ended_ms > since_ms),
            attempts.c.started_ms.is_not(None),
            attempts.c.started_ms < until_ms,
            end > begin,
        )
        .group_by(*group)
    ).all()
    shared = read_shared(connection, {row[0] for row in rows})
    return [
        HeldTime(project, user, queue, shared[spec].template.spec_of(rank), tasks, int(held_ms))
        for spec, project, user, queue, rank, tasks, held_ms in rows
        if spec in shared
    ]
