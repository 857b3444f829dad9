"""Finished jobs that needn't be kept any longer: found beside the writer, removed in short transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, Select, delete, exists, func, select, tuple_

from rota.lifecycle.state import Phase
from rota.model.ids import JobId
from rota.store.keys import first_key, id_of, number_of
from rota.store.scan import EVERYTHING, Span, along
from rota.store.tables import RoughPhase, answers, events, jobs, specs
from rota.store.write import BatchWriter, in_chunks, jobs_in

GROUPS_PER_STEP = 100


class Found(NamedTuple):
    keys: list[int]
    """Of jobs to be removed."""
    is_all: bool
    """Nothing else is to be removed by now, and a round has come to its end."""


class Pruned(NamedTuple):
    jobs: list[JobId]
    is_all: bool
    """As of `Found`."""


class History(Struct, frozen=True, omit_defaults=True):
    """What is kept of jobs that have ended; None: all of it."""

    keep_succeeded: int | None = None
    """So many runs of the same project and name, the latest. An array is one run; a job without a name is
    no run of anything, and only its age counts."""
    keep_failed: int | None = None
    """Or cancelled, or timed out."""
    ttl_ms: int | None = None
    """After its end."""

    def keep(self, outcome: RoughPhase) -> int | None:
        return {RoughPhase.SUCCEEDED: self.keep_succeeded, RoughPhase.FAILED: self.keep_failed}.get(outcome)


_Group = tuple[str, str, int]
"""Project, name and outcome: runs of the same job."""
_GROUP = (jobs.c.project, jobs.c.name, jobs.c.outcome)


class Pruner:
    """Goes round all groups of runs, some at each step."""

    def __init__(self) -> None:
        self._at: _Group | None = None
        """The last group it went past; None: the round begins."""

    def find(self, connection: Connection, history: History, now_ms: int, at_most: int) -> Found:
        """Without keys: nothing was found in this step."""
        found: list[int] = []
        is_all = True
        if history.ttl_ms is not None:
            aged = select(jobs.c.key).where(jobs.c.ended_ms < now_ms - history.ttl_ms)
            aged = aged.order_by(jobs.c.ended_ms, jobs.c.key).limit(at_most)
            found.extend(connection.execute(aged).scalars())
            is_all = len(found) < at_most
        if history.keep_succeeded is not None or history.keep_failed is not None:
            is_all = self._go_round(connection, history, at_most, found) and is_all
        return Found(list(dict.fromkeys(found)), is_all)

    def _go_round(self, connection: Connection, history: History, at_most: int, found: list[int]) -> bool:
        """Whether it came to the end."""
        for _ in range(GROUPS_PER_STEP):
            if len(found) >= at_most:
                return False
            group = _next_group(connection, self._at)
            if group is None:
                self._at = None
                return True
            _, name, outcome = group
            keep = history.keep(RoughPhase(outcome))
            if name and keep is not None:
                surplus = _surplus(connection, group, keep, at_most - len(found))
                found.extend(surplus)
                if len(found) >= at_most:
                    return False
            self._at = group
        return False


def _next_group(connection: Connection, after: _Group | None) -> _Group | None:
    groups = select(*_GROUP).order_by(*_GROUP).limit(1)
    if after is not None:
        groups = groups.where(tuple_(*_GROUP) > tuple_(*after))
    row = connection.execute(groups).one_or_none()
    return None if row is None else (row.project, row.name, row.outcome)


def _surplus(connection: Connection, group: _Group, keep: int, at_most: int) -> Sequence[int]:
    """The oldest first."""
    stretch = tuple(zip(_GROUP, group, strict=True))
    span = EVERYTHING

    def keys(newest_first: bool) -> Select[Any]:
        return along(connection, (jobs.c.key,), stretch, jobs.c.key, span, newest_first)

    if connection.execute(keys(newest_first=True).offset(keep).limit(1)).scalar() is None:
        return ()
    for _ in range(keep):
        key = connection.execute(keys(newest_first=True).limit(1)).scalar()
        if key is None:
            return ()
        span = Span(span.above, first_key(number_of(key)))
    return connection.execute(keys(newest_first=False).limit(at_most)).scalars().all()


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
