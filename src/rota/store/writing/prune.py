"""Finished jobs that needn't be kept any longer: found beside the writer, removed in short transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, delete, exists, func, select, tuple_

from rota.lifecycle.state import TERMINAL, Phase
from rota.model.ids import JobId
from rota.store.keys import id_of, number_of
from rota.store.sql.tables import RoughPhase, answers, counters, events, jobs, specs
from rota.store.writing.write import PRUNED, BatchWriter, in_chunks, jobs_in


class Found(NamedTuple):
    keys: list[int]
    """Of jobs to be removed, those that ended first in front."""
    is_all: bool
    """Nothing else is to be removed by now."""


class Pruned(NamedTuple):
    jobs: list[JobId]
    is_all: bool
    """As of `Found`."""


class History(Struct, frozen=True, omit_defaults=True):
    """What is kept of jobs that have ended. Only when they did counts, never what they were called: a name
    is mostly that of a command, and who runs `make` twice still wants to see the first."""

    ttl_ms: int | None = None
    """After its end; None: for ever."""
    at_least: int = 0
    """So many stay whatever their age, those that ended last."""
    at_most: int | None = None
    """Of more than so many, those that ended first go whatever their age; None: there is no such bound."""


_ORDER = (jobs.c.ended_ms, jobs.c.key)
_ENDED = jobs.c.ended_ms.is_not(None)


def find_old(connection: Connection, history: History, now_ms: int, at_most: int) -> Found:
    """Along the index of ends, from the first: as far as there is something to remove, and no further."""
    if history.at_most is not None:
        surplus = min(at_most, _ended_count(connection) - max(history.at_most, history.at_least))
        if surplus > 0:
            oldest = select(jobs.c.key).where(_ENDED).order_by(*_ORDER).limit(surplus)
            return Found(list(connection.execute(oldest).scalars()), surplus < at_most)
    if history.ttl_ms is None:
        return Found([], is_all=True)
    before_ms = now_ms - history.ttl_ms
    aged = select(jobs.c.key).where(jobs.c.ended_ms < before_ms).order_by(*_ORDER)
    # Mostly nothing is old enough, and then nobody needs to know how many others there are.
    if connection.execute(aged.limit(1)).scalar() is None:
        return Found([], is_all=True)
    spare = min(at_most, _ended_count(connection) - history.at_least)
    found = [] if spare <= 0 else list(connection.execute(aged.limit(spare)).scalars())
    return Found(found, len(found) < at_most)


def _ended_count(connection: Connection) -> int:
    names = [jobs_in(phase) for phase in TERMINAL]
    kept = select(func.sum(counters.c.value)).where(counters.c.name.in_(names))
    return int(connection.execute(kept).scalar() or 0)


def remove_jobs(
    connection: Connection, writer: BatchWriter, keys: Iterable[int], with_events: bool
) -> list[JobId]:
    """Those of them that have ended, with their attempts and estimates; answers which these were."""
    removed: list[int] = []
    phases: Counter[str] = Counter()
    spec_ids: set[int] = set()
    for some in in_chunks(list(keys)):
        ended = select(jobs.c.key, jobs.c.phase, jobs.c.spec).where(
            jobs.c.key.in_(some), jobs.c.outcome != int(RoughPhase.OPEN)
        )
        for key, phase, spec_id in connection.execute(ended.order_by(jobs.c.key)):
            removed.append(key)
            phases[phase] += 1
            spec_ids.add(spec_id)
    for gone in in_chunks(removed):
        connection.execute(delete(jobs).where(jobs.c.key.in_(gone)))
        if with_events:
            subjects = [id_of(key) for key in gone]
            connection.execute(
                delete(events).where(events.c.subject.in_(subjects), events.c.kind.startswith("job."))
            )
    for phase, count in sorted(phases.items()):
        writer.add(connection, jobs_in(Phase(phase)), -count)
    for unused in in_chunks(sorted(spec_ids)):
        used = exists().where(jobs.c.spec == specs.c.id)
        connection.execute(delete(specs).where(specs.c.id.in_(unused), ~used))
    writer.forget_specs()
    if removed:
        writer.raise_to(connection, PRUNED, number_of(max(removed)))
    return [id_of(key) for key in removed]


def remove_events(connection: Connection, before_ms: int, at_most: int) -> int:
    """The oldest first, and none beyond one that is to stay: who follows events never misses one between."""
    oldest = select(events.c.seq, events.c.at_ms).order_by(events.c.seq).limit(at_most).subquery()
    to_stay = connection.execute(select(func.min(oldest.c.seq)).where(oldest.c.at_ms >= before_ms)).scalar()
    if to_stay is None:
        to_stay = connection.execute(select(func.max(oldest.c.seq) + 1)).scalar()
    if to_stay is None:
        return 0
    return connection.execute(delete(events).where(events.c.seq < to_stay)).rowcount


def remove_answers(connection: Connection, before_ms: int, at_most: int) -> int:
    """The oldest first."""
    old = select(answers.c.scope, answers.c.key).where(answers.c.at_ms < before_ms)
    some = tuple_(answers.c.scope, answers.c.key).in_(old.order_by(answers.c.at_ms).limit(at_most))
    return connection.execute(delete(answers).where(some)).rowcount
