"""What jobs used that are no longer kept: a sum for each day, project, user and queue. It is added to in the
transaction that removes them, so nothing is counted twice or lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from rota.model.task import TaskSpec
from rota.store.reading.rows import read_shared
from rota.store.sql.tables import attempts, jobs, usage_days

DAY_MS = 86_400_000
_MIB = 2**20


class UsedDay(NamedTuple):
    """Of all tasks together. Amounts that fit into a database's whole numbers for years."""

    project: str
    user: str
    queue: str
    tasks: int
    cpu_ms: int
    """Of one core."""
    gpu_ms: int
    memory_mib_s: int


def used_by(connection: Connection, keys: Sequence[int]) -> list[dict[str, Any]]:
    """Rows to add, of jobs that have ended."""
    found = connection.execute(
        select(
            jobs.c.spec,
            jobs.c.project,
            jobs.c.owner,
            jobs.c.queue,
            attempts.c.rank,
            attempts.c.started_ms,
            attempts.c.ended_ms,
        )
        .join(jobs, jobs.c.key == attempts.c.job)
        .where(attempts.c.job.in_(keys), attempts.c.started_ms.is_not(None), attempts.c.ended_ms.is_not(None))
    ).all()
    shared = read_shared(connection, {row.spec for row in found})
    sums: dict[tuple[int, str, str, str], list[int]] = {}
    for row in found:
        if row.spec not in shared:
            continue
        task = shared[row.spec].template.spec_of(row.rank)
        for at, (day_ms, lasted_ms) in enumerate(by_day(row.started_ms, row.ended_ms)):
            total = sums.setdefault((day_ms, row.project, row.owner, row.queue), [0, 0, 0, 0])
            for place, amount in enumerate((int(at == 0), *_used(task, lasted_ms))):
                total[place] += amount
    return [
        dict(zip(usage_days.c.keys(), (*group, *amounts), strict=True))
        for group, amounts in sorted(sums.items())
    ]


def by_day(start_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    """When each day of a period began, in UTC, and how long the period lasted on it; the first at least."""
    at_ms = start_ms
    while True:
        day_ms = at_ms - at_ms % DAY_MS
        until_ms = max(at_ms, min(end_ms, day_ms + DAY_MS))
        yield day_ms, until_ms - at_ms
        at_ms = day_ms + DAY_MS
        if at_ms >= end_ms:
            return


def _used(task: TaskSpec, lasted_ms: int) -> tuple[int, int, int]:
    amounts = task.requests.plus(task.overhead)
    return (
        amounts.cpu_milli * lasted_ms // 1000,
        task.gpu.total_milli * lasted_ms // 1000,
        amounts.memory_bytes * lasted_ms // (_MIB * 1000),
    )


def find_days(connection: Connection, since_ms: int, until_ms: int) -> list[UsedDay]:
    """Those that lie between the two, or in part."""
    day = usage_days.c.day_ms
    wanted = select(*list(usage_days.c)[1:]).where(day > since_ms - DAY_MS, day < until_ms)
    return [UsedDay(*row) for row in connection.execute(wanted.order_by(*usage_days.primary_key))]
