"""What a store holds, made by reading its records one after the other."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from msgspec import Struct, msgpack

from rota.backends.backend import TaskRef
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import TenantUsage
from rota.model.ids import JobId
from rota.store.batch import (
    Answer,
    Attempt,
    Batch,
    NodeSettings,
    Project,
    Removal,
    StoredEvent,
    Token,
)
from rota.store.keys import key_of
from rota.store.load import Loaded

T = TypeVar("T")


class Kept(Struct, frozen=True, tag=True):
    batch: Batch


class Allocated(Struct, frozen=True, tag=True):
    count: int


class JobsForgotten(Struct, frozen=True, tag=True):
    jobs: tuple[JobId, ...]


class EventsForgotten(Struct, frozen=True, tag=True):
    up_to_seq: int


class AnswersForgotten(Struct, frozen=True, tag=True):
    before_ms: int


Record = Kept | Allocated | JobsForgotten | EventsForgotten | AnswersForgotten
_decoder = msgpack.Decoder(Record)
encode = msgpack.Encoder().encode


def decode(record: bytes) -> Record:
    return _decoder.decode(record)  # type: ignore[no-any-return]


class Tables:
    def __init__(self) -> None:
        self.jobs: dict[JobId, JobState] = {}
        self.attempts: dict[TaskRef, Attempt] = {}
        self.events: dict[int, StoredEvent] = {}
        self.answers: dict[tuple[str, str], Answer] = {}
        self.last_number = 0
        self.last_seq = 0
        self._node_settings: dict[str, NodeSettings] = {}
        self._queues: dict[str, QueueState] = {}
        self._maintenance: dict[str, Maintenance] = {}
        self._reservations: dict[str, Reservation] = {}
        self._projects: dict[str, Project] = {}
        self._tokens: dict[str, Token] = {}
        self._usage: dict[str, TenantUsage] = {}
        self._learnt: bytes | None = None

    def read(self, record: Record) -> None:
        match record:
            case Kept(batch):
                self._keep(batch)
            case Allocated(count):
                self.last_number += count
            case JobsForgotten(jobs):
                self.attempts = {ref: one for ref, one in self.attempts.items() if ref.job not in jobs}
                for job in jobs:
                    self.jobs.pop(job, None)
            case EventsForgotten(up_to_seq):
                self.events = {seq: one for seq, one in self.events.items() if seq > up_to_seq}
            case AnswersForgotten(before_ms):
                self.answers = {key: one for key, one in self.answers.items() if one.at_ms >= before_ms}

    def _keep(self, batch: Batch) -> None:
        for job in batch.jobs:
            self.jobs[job.id] = job
        for attempt in batch.attempts:
            self.attempts[TaskRef(attempt.job, attempt.rank, attempt.fence)] = attempt
        for event in batch.events:
            self.last_seq += 1
            self.events[self.last_seq] = StoredEvent(self.last_seq, event)
        for answer in batch.answers:
            self.answers.setdefault((answer.scope, answer.key), answer)
        self._node_settings.update((one.name, one) for one in batch.node_settings)
        self._queues.update((one.name, one) for one in batch.queues)
        self._maintenance.update((one.name, one) for one in batch.maintenance)
        self._reservations.update((one.name, one) for one in batch.reservations)
        self._projects.update((one.name, one) for one in batch.projects)
        self._tokens.update((one.id, one) for one in batch.tokens)
        self._usage.update((one.path, one) for one in batch.usage)
        if batch.learnt is not None:
            self._learnt = batch.learnt
        for kind, name in batch.removed:
            self._remove(kind, name)

    def _remove(self, kind: Removal, name: str) -> None:
        match kind:
            case Removal.MAINTENANCE:
                self._maintenance.pop(name, None)
            case Removal.RESERVATION:
                self._reservations.pop(name, None)
            case Removal.PROJECT:
                self._projects.pop(name, None)
            case Removal.TOKEN:
                self._tokens.pop(name, None)
            case Removal.NODE_SETTINGS:
                self._node_settings.pop(name, None)

    # -- looking

    def loaded(self) -> Loaded:
        unfinished = (job for job in self.jobs.values() if not job.phase.is_terminal)
        live = (one for one in self.attempts.values() if one.ended_ms is None)
        return Loaded(
            jobs=sorted(unfinished, key=lambda job: (job.number, key_of(job.id))),
            unreadable=[],
            attempts=sorted(live, key=lambda one: (key_of(one.job), one.fence)),
            node_settings=_by_name(self._node_settings),
            queues=_by_name(self._queues),
            maintenance=_by_name(self._maintenance),
            reservations=_by_name(self._reservations),
            projects=_by_name(self._projects),
            tokens=_by_name(self._tokens),
            usage=_by_name(self._usage),
            learnt=self._learnt,
            last_seq=self.last_seq,
        )

    def attempts_of(self, job: JobId) -> list[Attempt]:
        """In the order of their fences."""
        found = [one for one in self.attempts.values() if one.job == job]
        return sorted(found, key=lambda one: one.fence)

    def counts(self) -> dict[Phase, int]:
        counted = Counter(job.phase for job in self.jobs.values())
        return {phase: counted[phase] for phase in Phase}


def _by_name(records: dict[str, T]) -> list[T]:
    return [records[name] for name in sorted(records)]
