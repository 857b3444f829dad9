"""What has to be kept, made of the batches that were committed; and what is found in a database.

Both are made by different ways, so that a store which loses, changes or invents something is seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import select

from rota.backends.backend import TaskRef
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import TenantUsage
from rota.model.ids import JobId
from rota.store.keys import key_of
from rota.store.reading.load import Loaded, load
from rota.store.reading.queries import count_jobs
from rota.store.reading.rows import STATE, read_answer, read_attempt, read_estimate, read_event, read_states
from rota.store.sql.database import Database
from rota.store.sql.tables import answers, attempts, estimates, events, jobs
from rota.store.writing.batch import (
    Agent,
    Answer,
    Attempt,
    Batch,
    JoinToken,
    NodeSettings,
    Project,
    Removal,
    Secret,
    StoredEvent,
    Token,
    ToldEstimate,
)

T = TypeVar("T")


class Contents(Struct, frozen=True):
    """Of a database, all of it."""

    loaded: Loaded
    """What a server is told when it starts."""
    counts: dict[Phase, int]
    jobs: dict[JobId, JobState]
    attempts: dict[TaskRef, Attempt]
    events: dict[int, StoredEvent]
    estimates: dict[tuple[JobId, int], ToldEstimate]
    answers: dict[tuple[str, str], Answer]

    def differs_from(self, expected: Contents) -> str:
        """In what, first of all; empty: it doesn't."""
        for name in ("jobs", "attempts", "events", "estimates", "answers", "counts"):
            if told := _first_difference(getattr(self, name), getattr(expected, name)):
                return f"{name}: {told}"
        changed = _changed_fields(self.loaded, expected.loaded)
        return f"what a server loads: other {', '.join(changed)}" if changed else ""


def _first_difference(found: dict[Any, Any], expected: dict[Any, Any]) -> str:
    for key, wanted in expected.items():
        if key not in found:
            return f"{key} is missing"
        if found[key] != wanted:
            changed = _changed_fields(found[key], wanted) if isinstance(wanted, Struct) else [str(wanted)]
            return f"{key} is another: {', '.join(changed)}"
    return next((f"{key} is new" for key in found if key not in expected), "")


def _changed_fields(found: Struct, expected: Struct) -> list[str]:
    return [name for name in found.__struct_fields__ if getattr(found, name) != getattr(expected, name)]


class Kept:
    """By batches, one after the other."""

    def __init__(self) -> None:
        self.jobs: dict[JobId, JobState] = {}
        self.attempts: dict[TaskRef, Attempt] = {}
        self.events: dict[int, StoredEvent] = {}
        self.last_seq = 0
        self._estimates: dict[tuple[JobId, int], ToldEstimate] = {}
        self._answers: dict[tuple[str, str], Answer] = {}
        self._node_settings: dict[str, NodeSettings] = {}
        self._queues: dict[str, QueueState] = {}
        self._maintenance: dict[str, Maintenance] = {}
        self._reservations: dict[str, Reservation] = {}
        self._projects: dict[str, Project] = {}
        self._tokens: dict[str, Token] = {}
        self._join_tokens: dict[str, JoinToken] = {}
        self._agents: dict[str, Agent] = {}
        self._secrets: dict[str, Secret] = {}
        self._usage: dict[str, TenantUsage] = {}
        self._learnt: bytes | None = None

    def keep(self, batch: Batch) -> None:
        self.jobs.update((one.id, one) for one in batch.jobs)
        self.attempts.update((_ref(one), one) for one in batch.attempts)
        for event in batch.events:
            self.last_seq += 1
            self.events[self.last_seq] = StoredEvent(self.last_seq, event)
        self._estimates.update(((one.job, one.estimate.told_ms), one) for one in batch.estimates)
        for answer in batch.answers:
            self._answers.setdefault((answer.scope, answer.key), answer)
        self._node_settings.update((one.name, one) for one in batch.node_settings)
        self._queues.update((one.name, one) for one in batch.queues)
        self._maintenance.update((one.name, one) for one in batch.maintenance)
        self._reservations.update((one.name, one) for one in batch.reservations)
        self._projects.update((one.name, one) for one in batch.projects)
        self._tokens.update((one.id, one) for one in batch.tokens)
        self._join_tokens.update((one.id, one) for one in batch.join_tokens)
        self._agents.update((one.name, one) for one in batch.agents)
        self._secrets.update((f"{one.project}/{one.name}", one) for one in batch.secrets)
        self._usage.update((one.path, one) for one in batch.usage)
        if batch.learnt is not None:
            self._learnt = batch.learnt
        for kind, name in batch.removed:
            self._removable(kind).pop(name, None)

    def _removable(self, kind: Removal) -> dict[str, Any]:
        by_kind: dict[Removal, dict[str, Any]] = {
            Removal.MAINTENANCE: self._maintenance,
            Removal.RESERVATION: self._reservations,
            Removal.PROJECT: self._projects,
            Removal.TOKEN: self._tokens,
            Removal.NODE_SETTINGS: self._node_settings,
            Removal.JOIN_TOKEN: self._join_tokens,
            Removal.AGENT: self._agents,
            Removal.SECRET: self._secrets,
        }
        return by_kind[kind]

    def contents(self) -> Contents:
        counted = Counter(job.phase for job in self.jobs.values())
        return Contents(
            self._loaded(),
            {phase: counted[phase] for phase in Phase},
            self.jobs,
            self.attempts,
            self.events,
            self._estimates,
            self._answers,
        )

    def _loaded(self) -> Loaded:
        return Loaded(
            jobs=_by_key([job for job in self.jobs.values() if not job.phase.is_terminal]),
            unreadable=[],
            attempts=sorted(
                (one for one in self.attempts.values() if one.ended_ms is None),
                key=lambda one: (key_of(one.job), one.fence),
            ),
            node_settings=_by_name(self._node_settings),
            queues=_by_name(self._queues),
            maintenance=_by_name(self._maintenance),
            reservations=_by_name(self._reservations),
            projects=_by_name(self._projects),
            tokens=_by_name(self._tokens),
            join_tokens=_by_name(self._join_tokens),
            agents=_by_name(self._agents),
            secrets=_by_name(self._secrets),
            usage=_by_name(self._usage),
            learnt=self._learnt,
            last_seq=self.last_seq,
        )


def found_in(database: Database) -> Contents:
    with database.readers.begin() as connection:
        loaded = load(connection)
        states = read_states(connection, connection.execute(select(*STATE).order_by(jobs.c.key)).all())
        told = map(read_estimate, connection.execute(select(estimates)))
        answered = map(read_answer, connection.execute(select(answers)))
        return Contents(
            replace(loaded, jobs=_by_key(loaded.jobs)),
            count_jobs(connection),
            {state.id: state for state in states.readable},
            {_ref(one): one for one in map(read_attempt, connection.execute(select(attempts)))},
            {one.seq: one for one in map(read_event, connection.execute(select(events)))},
            {(one.job, one.estimate.told_ms): one for one in told},
            {(one.scope, one.key): one for one in answered},
        )


def _ref(attempt: Attempt) -> TaskRef:
    return TaskRef(attempt.job, attempt.rank, attempt.fence)


def _by_key(states: list[JobState]) -> list[JobState]:
    """Of jobs of the same number, a store may tell in any order."""
    return sorted(states, key=lambda state: key_of(state.id))


def _by_name(records: dict[str, T]) -> list[T]:
    return [records[name] for name in sorted(records)]
