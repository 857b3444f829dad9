"""The way in: a database that is open, called from threads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, update

from rota.clock import since_boot_s
from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker, BreakerState
from rota.patience.guard import Guard
from rota.store import leases, queries
from rota.store.audit_list import (
    ALL_RECORDS,
    AUDIT,
    AuditFilter,
    AuditPage,
    check_chain,
    find_audit,
    remove_audit,
)
from rota.store.audit_record import AuditCheck
from rota.store.batch import Answer, Attempt, Batch, StoredEvent, ToldEstimate
from rota.store.database import Database, connect
from rota.store.errors import StoreDiverged, StoreRefused, StoreUnavailable
from rota.store.event_list import ALL_EVENTS, EventFilter
from rota.store.faults import told_plainly
from rota.store.job_list import JobFilter
from rota.store.keys import find_key
from rota.store.leases import Claim, Leadership, Lease
from rota.store.load import Loaded, load, without_collection
from rota.store.migrate import migrate
from rota.store.prune import History, Pruned, Pruner, remove_answers, remove_events, remove_jobs
from rota.store.queries import JobPage
from rota.store.records import Kind, first_of_its_kind
from rota.store.tables import counters
from rota.store.write import EPOCH, EVENTS, NUMBERS, BatchWriter, Written

NUMBERS_AT_ONCE = 100
"""Taken from the database in one go. A crash loses those that are left; a close gives them back."""

_BREAKER = Breaker(limit=5, pauses=Backoff(first_s=0.5, longest_s=5.0))


def open_store(url: str, read_threads: int = 4, lock: Path | None = None) -> Store:
    """Creates the tables if there are none, and brings those of an older Rota up to date. `lock`: what marks
    its server's folder as taken; once it is gone the store is of no use any more."""
    return Store(open_database(url, read_threads, lock))


def open_database(
    url: str,
    read_threads: int = 4,
    lock: Path | None = None,
    sqlite: Callable[..., sqlite3.Connection] = sqlite3.Connection,
) -> Database:
    """`sqlite` makes the connections to an SQLite database."""
    with told_plainly():
        database = connect(url, read_threads, sqlite)
        try:
            if lock is not None:
                database.pin(lock, f"the folder {lock.parent}")
            with database.writer.begin() as connection:
                migrate(connection)
        except BaseException:
            database.close()
            raise
    return database


class Store:
    """Every method may be called from any thread. Those that read see one state throughout, and neither wait
    for the writer nor make it wait. All raise StoreUnavailable when the database can't be used now; the
    next call tries again. More than twenty methods: one for each question; the queries themselves are in
    modules of their own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = BatchWriter(database.writer.dialect.name)
        self._pruner = Pruner()
        self._writing = threading.Lock()
        self._allocating = threading.Lock()
        self._numbers = range(0)
        self._note_number: Callable[[int], None] = lambda up_to: None
        self._leadership: Leadership | None = None
        self._reading = Guard(_BREAKER, since_boot_s)
        self._in_doubt: tuple[Batch, Written] | None = None
        """A batch whose commit may or may not have reached the database, and how far it is if it did."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with suppress(StoreUnavailable):  # What can't be given back is lost, as in a crash.
            self._give_back_numbers()
        self._database.close()

    # -- writing

    def commit(self, batch: Batch) -> int:
        """Keeps all of it, and answers the last event's seq.

        After StoreUnavailable nothing of it is kept, unless the connection was lost at the very end: then
        nobody knows yet. Committing the same batch again is safe, it is kept once; committing another raises
        StoreDiverged if the first turns out to have been kept.
        """
        with self._write() as connection:
            if self._in_doubt is not None:
                doubtful, if_kept = self._in_doubt
                was_kept = self._was_kept(connection, doubtful, if_kept)
                self._in_doubt = None
                if was_kept and doubtful is batch:
                    return if_kept.last_seq
                if was_kept:
                    raise StoreDiverged(
                        "a change was committed that was reported as failed: load the state again"
                    )
            written = self._writer.write(connection, batch)
            self._in_doubt = batch, written
        self._in_doubt = None
        return written.last_seq

    def _was_kept(self, connection: Connection, batch: Batch, if_kept: Written) -> bool:
        """Adding nothing to a counter waits for a commit that is still under way without us."""
        if batch.events:
            return self._writer.add(connection, EVENTS, 0) == if_kept.last_seq
        return bool(batch.audit) and self._writer.add(connection, AUDIT, 0) == if_kept.last_audit

    def allocate(self, count: int) -> int:
        """The first of so many fresh numbers for jobs; none is ever given out twice."""
        with self._allocating:
            if count > len(self._numbers):
                taken = max(count, NUMBERS_AT_ONCE)
                with self._write() as connection:
                    last = self._writer.add(connection, NUMBERS, taken)
                self._note_numbers(last)
                self._numbers = range(last - taken + 1, last + 1)
            first = self._numbers.start
            self._numbers = self._numbers[count:]
            return first

    def begin_epoch(self, least: int) -> int:
        """That, or the next: above all that were begun before."""
        with self._write() as connection:
            before = self._writer.add(connection, EPOCH, 0)
            return self._writer.add(connection, EPOCH, max(1, least - before))

    def note_numbers_by(self, note: Callable[[int], None]) -> None:
        """Who is told, each time before numbers are used, how high they may go. Raises OSError if it can't
        be noted: then none is given out."""
        self._note_number = note

    def _note_numbers(self, up_to: int) -> None:
        try:
            self._note_number(up_to)
        except OSError as error:
            raise StoreUnavailable(f"{error.filename}: {error.strerror}") from None

    def skip_numbers(self, up_to: int) -> int:
        """None of these is given out from now on; answers the highest that was, or won't be."""
        with self._allocating, self._write() as connection:
            given = self._writer.add(connection, NUMBERS, 0)
            if given >= up_to:
                return given
            self._numbers = range(0)
            return self._writer.add(connection, NUMBERS, up_to - given)

    def forget(self, ids: Iterable[JobId], with_events: bool = False) -> list[JobId]:
        """Removes those that have ended, with their attempts and estimates; answers which these were."""
        keys = [key for key in map(find_key, ids) if key is not None]
        with self._write() as connection:
            return remove_jobs(connection, self._writer, keys, with_events)

    def prune(self, history: History, now_ms: int, at_most: int = 200, with_events: bool = False) -> Pruned:
        """One step of an endless round: to be called every so often. Answers what was removed."""
        with self._read() as connection:
            found = self._pruner.find(connection, history, now_ms, at_most)
        if not found.keys:
            return Pruned([], found.is_all)
        with self._write() as connection:
            return Pruned(remove_jobs(connection, self._writer, found.keys, with_events), found.is_all)

    def forget_events(self, before_ms: int, at_most: int = 1000) -> int:
        """Removes events of long ago; answers how many."""
        with self._write() as connection:
            return remove_events(connection, before_ms, at_most)

    def forget_answers(self, before_ms: int, at_most: int = 1000) -> int:
        """Removes old answers to requests with a key; answers how many."""
        with self._write() as connection:
            return remove_answers(connection, before_ms, at_most)

    def forget_audit(self, before_ms: int | None, keep: int | None, at_most: int = 1000) -> int:
        """Removes the oldest audit records: those of long ago, and those beyond so many; answers how many."""
        with self._write() as connection:
            return remove_audit(connection, before_ms, keep, at_most)

    def authority(self, make: Callable[[], bytes]) -> bytes:
        """The cluster's own, or the one that is made: of several servers that make one, one is kept."""
        with self._write() as connection:
            return first_of_its_kind(connection, Kind.AUTHORITY, make)

    def files_marker(self, make: Callable[[], bytes]) -> bytes:
        """Of the folder that all servers of the database keep files in: that of the first."""
        with self._write() as connection:
            return first_of_its_kind(connection, Kind.FILES, make)

    # -- leading, where several servers share a database

    @property
    def is_shared(self) -> bool:
        """Whether several servers can use it, of which one leads."""
        return self._database.leases is not None

    def lead(self, claim: Claim, ttl_ms: int) -> Leadership | None:
        """For so long, unless another does. From then on all that is written through this store carries the
        leadership's token, and raises StoreFenced once another leads."""
        with self._lease() as connection:
            leadership = leases.take(connection, claim, ttl_ms)
        if leadership is not None:
            with self._writing:
                self._leadership = leadership
                self._writer.forget()
        return leadership

    def renew(self, leadership: Leadership, ttl_ms: int) -> bool:
        """For so long from now. False: another leads."""
        with self._lease() as connection:
            return leases.renew(connection, leadership, ttl_ms)

    def resign(self, leadership: Leadership) -> None:
        """Others needn't wait for its end."""
        with self._lease() as connection:
            leases.give_up(connection, leadership)

    def leader(self, name: str) -> Lease | None:
        """Who leads, or did last."""
        with self._lease() as connection:
            return leases.find(connection, name)

    # -- reading

    def load(self) -> Loaded:
        with self._read() as connection, without_collection():
            return load(connection)

    def jobs(self, wanted: JobFilter, after: str | None = None, limit: int = 100) -> JobPage:
        """Raises BadCursor for an `after` that no page ended with."""
        with self._read() as connection:
            return queries.find_jobs(connection, wanted, after, limit)

    def job(self, job: JobId) -> JobState | None:
        with self._read() as connection:
            return queries.find_job(connection, job)

    def jobs_of_array(self, number: int) -> list[JobState]:
        """By index."""
        with self._read() as connection:
            return queries.jobs_of_array(connection, number)

    def job_with_attempts(self, job: JobId, limit: int = 1000) -> tuple[JobState, list[Attempt]] | None:
        """Both of one moment: the latest so many, in the order of their fences."""
        with self._read() as connection:
            state = queries.find_job(connection, job)
            return None if state is None else (state, queries.find_attempts(connection, job, limit))

    def nodes_of(self, job: JobId) -> list[NodeName]:
        """Where tasks of it were sent; last the one with its latest attempt."""
        with self._read() as connection:
            return queries.find_nodes(connection, job)

    def estimates(self, job: JobId) -> list[ToldEstimate]:
        """In the order in which they were told."""
        with self._read() as connection:
            return queries.find_estimates(connection, job)

    def events(
        self, after_seq: int, limit: int = 1000, wanted: EventFilter = ALL_EVENTS
    ) -> list[StoredEvent]:
        """In their order; empty only if there is none after `after_seq`."""
        with self._read() as connection:
            return queries.find_events(connection, after_seq, limit, wanted)

    def latest_events(self, count: int, wanted: EventFilter = ALL_EVENTS) -> list[StoredEvent]:
        """The newest so many, the oldest of them first."""
        with self._read() as connection:
            return queries.find_latest_events(connection, count, wanted)

    def audit(
        self, wanted: AuditFilter = ALL_RECORDS, after: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Newest first. Raises BadCursor for an `after` that no page ended with."""
        with self._read() as connection:
            return find_audit(connection, wanted, after, limit)

    def check_audit(self) -> AuditCheck:
        """Whether each record follows from the one before it."""
        with self._read() as connection:
            return check_chain(connection)

    def answer(self, scope: str, key: str) -> Answer | None:
        with self._read() as connection:
            return queries.find_answer(connection, scope, key)

    def counts(self) -> dict[Phase, int]:
        """All jobs that are kept, by phase."""
        with self._read() as connection:
            return queries.count_jobs(connection)

    @property
    def is_left_alone(self) -> bool:
        """It hasn't answered too many times in a row, and isn't asked for a while."""
        return self._reading.state is BreakerState.OPEN

    # -- connections

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        self._admit_reading()
        try:
            with told_plainly():
                self._database.ensure_still_there()
                with self._database.readers.begin() as connection:
                    yield connection
        except StoreUnavailable:
            self._reading.failed()
            raise
        self._reading.succeeded()

    def _admit_reading(self) -> None:
        """A file answers or fails at once; a server that is gone keeps everybody waiting who asks."""
        wait_s = 0.0 if self._database.is_sqlite else self._reading.admit()
        if wait_s > 0:
            raise StoreUnavailable(
                f"the database hasn't answered {self._reading.failures} times in a row: "
                f"the next try is in {wait_s:.1f} s"
            )

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._writing, told_plainly():
            self._database.ensure_still_there()
            try:
                with self._database.writer.begin() as connection:
                    if self._leadership is not None:
                        leases.ensure_led(connection, self._leadership)
                    yield connection
            except BaseException:
                self._writer.forget()
                raise

    @contextmanager
    def _lease(self) -> Iterator[Connection]:
        engine = self._database.leases
        if engine is None:
            raise StoreRefused("an SQLite database has one server: use PostgreSQL for several")
        with told_plainly(), engine.begin() as connection:
            yield connection

    def _give_back_numbers(self) -> None:
        """So that numbers go on without a gap, if nobody has taken more in the meantime."""
        with self._allocating:
            if not self._numbers:
                return
            left, self._numbers = self._numbers, range(0)
            with self._write() as connection:
                given_back = connection.execute(
                    update(counters)
                    .where(counters.c.name == NUMBERS, counters.c.value == left[-1])
                    .values(value=left.start - 1)
                ).rowcount
            if given_back:
                self._note_numbers(left.start - 1)
