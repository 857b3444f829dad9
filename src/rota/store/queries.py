"""What can be asked: pages of jobs and events, and all there is of one job."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.store.batch import Answer, Attempt, StoredEvent, ToldEstimate
from rota.store.errors import BadCursor, StoreCorrupt
from rota.store.event_list import EventFilter, select_latest_seqs, select_seqs
from rota.store.job_list import JobFilter, select_keys
from rota.store.keys import find_key, id_of, keys_of_array
from rota.store.rows import STATE, read_answer, read_attempt, read_estimate, read_event, read_states
from rota.store.tables import answers, attempts, counters, estimates, events, jobs
from rota.store.write import jobs_in

__all__ = ["EventFilter", "JobFilter", "JobPage"]


class JobPage(NamedTuple):
    """Newest first. May hold less than was asked for, or nothing, and yet not be the last."""

    jobs: list[JobState]
    next: str | None
    """The `after` of the next page; None: this is the last."""


_JOBS = select(*STATE).where(jobs.c.key.in_(bindparam("keys", expanding=True))).order_by(jobs.c.key.desc())
_EVENTS = select(events).where(events.c.seq.in_(bindparam("seqs", expanding=True))).order_by(events.c.seq)


def find_jobs(connection: Connection, wanted: JobFilter, after: str | None, limit: int) -> JobPage:
    before = None if after is None else find_key(after)
    if after is not None and before is None:
        raise BadCursor(after)
    keys = select_keys(connection, wanted, before, limit)
    rows = connection.execute(_JOBS, {"keys": keys.found}).all() if keys.found else []
    return JobPage(read_states(connection, rows).readable, None if keys.next is None else id_of(keys.next))


def find_job(connection: Connection, job: JobId) -> JobState | None:
    key = find_key(job)
    rows = [] if key is None else connection.execute(_JOBS, {"keys": [key]}).all()
    states = read_states(connection, rows)
    if states.unreadable:
        raise StoreCorrupt(f"job {job} can't be read: {states.unreadable[0][1]}")
    return states.readable[0] if states.readable else None


def jobs_of_array(connection: Connection, number: int) -> list[JobState]:
    """By index."""
    keys = keys_of_array(number)
    statement = select(*STATE).where(jobs.c.key >= keys.start, jobs.c.key < keys.stop).order_by(jobs.c.key)
    return read_states(connection, connection.execute(statement).all()).readable


def find_attempts(connection: Connection, job: JobId, limit: int) -> list[Attempt]:
    """The latest so many, in the order of their fences."""
    latest = _of_job(attempts, job).order_by(attempts.c.fence.desc()).limit(limit)
    return [read_attempt(row) for row in reversed(connection.execute(latest).all())]


def find_nodes(connection: Connection, job: JobId) -> list[NodeName]:
    """In the order of its latest attempt on each."""
    sent = _of_job(attempts, job).with_only_columns(attempts.c.node)
    nodes = sent.group_by(attempts.c.node).order_by(func.max(attempts.c.fence))
    return [NodeName(name) for name in connection.execute(nodes).scalars()]


def find_estimates(connection: Connection, job: JobId) -> list[ToldEstimate]:
    """In the order in which they were told."""
    told = _of_job(estimates, job).order_by(estimates.c.told_ms)
    return [read_estimate(row) for row in connection.execute(told)]


def _of_job(table: Any, job: JobId) -> Any:
    key = find_key(job)
    return select(table).where(table.c.job == (-1 if key is None else key))


def find_events(connection: Connection, after_seq: int, limit: int, wanted: EventFilter) -> list[StoredEvent]:
    return _events_of(connection, select_seqs(connection, wanted, after_seq, limit))


def find_latest_events(connection: Connection, count: int, wanted: EventFilter) -> list[StoredEvent]:
    return _events_of(connection, select_latest_seqs(connection, wanted, count))


def _events_of(connection: Connection, seqs: list[int]) -> list[StoredEvent]:
    return [read_event(row) for row in connection.execute(_EVENTS, {"seqs": seqs})] if seqs else []


def find_answer(connection: Connection, scope: str, key: str) -> Answer | None:
    row = connection.execute(
        select(answers).where(answers.c.scope == scope, answers.c.key == key)
    ).one_or_none()
    return None if row is None else read_answer(row)


def count_jobs(connection: Connection) -> dict[Phase, int]:
    """All that are kept, by phase."""
    values = dict(connection.execute(select(counters.c.name, counters.c.value)).all())
    return {phase: values.get(jobs_in(phase), 0) for phase in Phase}
