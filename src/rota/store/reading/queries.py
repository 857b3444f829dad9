"""What can be asked: pages of jobs and events, and all there is of one job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, tuple_

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.store.errors import BadCursor, StoreCorrupt
from rota.store.keys import find_key, first_key, id_of, keys_of_array, number_of
from rota.store.reading.event_list import EventFilter, select_latest_seqs, select_seqs
from rota.store.reading.job_list import JobFilter, select_keys
from rota.store.reading.rows import STATE, read_answer, read_attempt, read_estimate, read_event, read_states
from rota.store.sql.tables import answers, attempts, counters, estimates, events, jobs
from rota.store.writing.batch import Answer, Attempt, StoredEvent, ToldEstimate
from rota.store.writing.write import LOGS_PRUNED, PRUNED, in_chunks, jobs_in

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


def jobs_with_keys(connection: Connection, keys: Sequence[int]) -> list[JobState]:
    """Newest first."""
    rows = [row for some in in_chunks(keys) for row in connection.execute(_JOBS, {"keys": some})]
    return read_states(connection, rows).readable


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


class EndedJob(NamedTuple):
    """Where it is in the order of ends, and which it is."""

    ended_ms: int
    key: int

    @property
    def id(self) -> JobId:
        return id_of(self.key)


def find_ended(connection: Connection, after: EndedJob, up_to_ms: int, limit: int) -> list[EndedJob]:
    """In the order of their ends."""
    order = (jobs.c.ended_ms, jobs.c.key)
    found = select(*order).where(tuple_(*order) > tuple_(*after), jobs.c.ended_ms <= up_to_ms)
    return [EndedJob(*row) for row in connection.execute(found.order_by(*order).limit(limit))]


def was_removed(connection: Connection, job: JobId) -> bool:
    """Of a job that isn't there: whether there was one, which was removed. The numbers between that of an
    array and the next are no jobs' at all."""
    key = find_key(job)
    if key is None:
        return False
    number = number_of(key)
    if number < 1:
        return False  # the first has the number 1
    removed = connection.execute(select(counters.c.value).where(counters.c.name == PRUNED)).scalar() or 0
    last_key = connection.execute(select(func.max(jobs.c.key))).scalar()
    if number > max(removed, -1 if last_key is None else number_of(last_key)):
        return False
    of_array = select(func.max(jobs.c.key)).where(
        jobs.c.key >= first_key(number), jobs.c.key < first_key(number + 1)
    )
    last_element = connection.execute(of_array).scalar()
    if last_element is not None:
        # Of an array, those that ended first go first: mostly its first.
        return first_key(number) < key < last_element and number <= removed
    before = select(*STATE).where(jobs.c.key < key).order_by(jobs.c.key.desc()).limit(1)
    states = read_states(connection, connection.execute(before).all()).readable
    return not (states and states[0].number >= number)


def logs_pruned_ms(connection: Connection) -> int:
    """What jobs wrote that ended up to then was removed; 0: nothing was."""
    return int(
        connection.execute(select(counters.c.value).where(counters.c.name == LOGS_PRUNED)).scalar() or 0
    )


def find_attempts(connection: Connection, job: JobId, limit: int) -> list[Attempt]:
    """The latest so many, in the order of their fences."""
    latest = _of_job(attempts, job).order_by(attempts.c.fence.desc()).limit(limit)
    return [read_attempt(row) for row in reversed(connection.execute(latest).all())]


def find_attempts_of_array(connection: Connection, number: int, limit: int) -> list[Attempt]:
    """Of all its jobs, so many at most."""
    keys = keys_of_array(number)
    of_all = select(attempts).where(attempts.c.job >= keys.start, attempts.c.job < keys.stop)
    found = of_all.order_by(attempts.c.job, attempts.c.fence).limit(limit)
    return [read_attempt(row) for row in connection.execute(found)]


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
