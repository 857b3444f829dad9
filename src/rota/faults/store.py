"""A store on a simulated disk. It does what `rota.store.store.Store` does, and fails when it is told to.

`tests/faults/test_store.py` holds both to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from msgspec import Struct

from rota.faults.disk import Disk
from rota.faults.tables import (
    Allocated,
    AnswersForgotten,
    EventsForgotten,
    JobsForgotten,
    Kept,
    Record,
    Tables,
    decode,
    encode,
)
from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.store.batch import Answer, Attempt, Batch, StoredEvent
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.event_list import ALL_EVENTS, EventFilter
from rota.store.keys import key_of
from rota.store.load import Loaded
from rota.store.prune import History

NUMBERS_AT_ONCE = 100


class Weather(Struct):
    """What goes wrong with the disk at the moment."""

    is_full: bool = False
    loses_connection: float = 0.0
    """How often that happens right at the end of a commit, so that nobody knows whether it was kept."""


def _ignore(_: Batch) -> None:
    pass


class SimulatedStore:
    """Opened anew by every server: what isn't on the disk is gone then."""

    def __init__(
        self,
        disk: Disk,
        weather: Weather,
        chance: Random,
        on_commit: Callable[[Batch], None] = _ignore,
    ) -> None:
        self.tables = Tables()
        for record in disk.recover():
            self.tables.read(decode(record))
        self._disk = disk
        self._weather = weather
        self._chance = chance
        self._on_commit = on_commit
        self._numbers = range(0)
        self._in_doubt: tuple[Batch, int] | None = None

    # -- writing

    def commit(self, batch: Batch) -> int:
        self._check()
        if self._in_doubt is not None:
            doubtful, seq_if_kept = self._in_doubt
            was_kept = bool(doubtful.events) and self.tables.last_seq == seq_if_kept
            self._in_doubt = None
            if was_kept and doubtful is batch:
                return seq_if_kept
            if was_kept:
                raise StoreDiverged("a change was kept that was reported as failed: load the state anew")
        last_seq = self.tables.last_seq + len(batch.events)
        is_lost = self._chance.random() < self._weather.loses_connection
        if not (is_lost and self._chance.random() < 0.5):
            self._on_commit(batch)
            self._write(Kept(batch))
        if is_lost:
            self._in_doubt = batch, last_seq
            raise StoreUnavailable("the connection was lost")
        return last_seq

    def allocate(self, count: int) -> int:
        self._check()
        if count > len(self._numbers):
            taken = max(count, NUMBERS_AT_ONCE)
            self._write(Allocated(taken))
            last = self.tables.last_number
            self._numbers = range(last - taken + 1, last + 1)
        first = self._numbers.start
        self._numbers = self._numbers[count:]
        return first

    def prune(self, history: History, now_ms: int, at_most: int = 200) -> list[JobId]:
        """By their age alone."""
        self._check()
        if history.ttl_ms is None:
            return []
        ended = sorted(
            (one.ended_ms, key_of(one.id), one.id) for one in self.tables.jobs.values() if one.ended_ms
        )
        gone = [job for ended_ms, _, job in ended if ended_ms < now_ms - history.ttl_ms][:at_most]
        if gone:
            self._write(JobsForgotten(tuple(gone)))
        return gone

    def forget_events(self, before_ms: int, at_most: int = 1000) -> int:
        self._check()
        old: list[int] = []
        for seq, event in list(self.tables.events.items())[:at_most]:
            if event.row.at_ms >= before_ms:
                break
            old.append(seq)
        if old:
            self._write(EventsForgotten(old[-1]))
        return len(old)

    def forget_answers(self, before_ms: int, at_most: int = 1000) -> int:
        self._check()
        old = sum(answer.at_ms < before_ms for answer in self.tables.answers.values())
        if old:
            self._write(AnswersForgotten(before_ms))
        return old

    def _write(self, record: Record) -> None:
        written = encode(record)
        self._disk.append(written)
        # As it will be read by the next server: what doesn't survive that is seen at once.
        self.tables.read(decode(written))

    def _check(self) -> None:
        if self._weather.is_full:
            raise StoreUnavailable("the disk is full")

    # -- reading

    def load(self) -> Loaded:
        self._check()
        return self.tables.loaded()

    def job(self, job: JobId) -> JobState | None:
        self._check()
        return self.tables.jobs.get(job)

    def jobs_of_array(self, number: int) -> list[JobState]:
        self._check()
        found = [one for one in self.tables.jobs.values() if one.id.startswith(f"{number}.")]
        return sorted(found, key=lambda one: key_of(one.id))

    def job_with_attempts(self, job: JobId, limit: int = 1000) -> tuple[JobState, list[Attempt]] | None:
        self._check()
        state = self.tables.jobs.get(job)
        return None if state is None else (state, self.tables.attempts_of(job)[-limit:])

    def nodes_of(self, job: JobId) -> list[NodeName]:
        self._check()
        nodes: dict[NodeName, None] = {}
        for attempt in self.tables.attempts_of(job):
            nodes.pop(attempt.node, None)
            nodes[attempt.node] = None
        return list(nodes)

    def events(
        self, after_seq: int, limit: int = 1000, wanted: EventFilter = ALL_EVENTS
    ) -> list[StoredEvent]:
        self._check()
        found = [one for seq, one in self.tables.events.items() if seq > after_seq and wanted.admits(one.row)]
        return found[:limit]

    def latest_events(self, count: int, wanted: EventFilter = ALL_EVENTS) -> list[StoredEvent]:
        self._check()
        return [one for one in self.tables.events.values() if wanted.admits(one.row)][-count:]

    def answer(self, scope: str, key: str) -> Answer | None:
        self._check()
        return self.tables.answers.get((scope, key))

    def counts(self) -> dict[Phase, int]:
        self._check()
        return self.tables.counts()
