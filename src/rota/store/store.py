"""The way in: a database that is open, called from threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from rota.model.ids import JobId
from rota.store.audit_list import AUDIT, remove_audit
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.keys import find_key
from rota.store.leading import ServerLeases
from rota.store.reading.reader import StoreReader
from rota.store.records import Kind, first_of_its_kind
from rota.store.sql import leases
from rota.store.sql.connections import Connections
from rota.store.sql.database import Database, connect
from rota.store.sql.faults import told_plainly
from rota.store.sql.migrate import migrate
from rota.store.writing.batch import Batch
from rota.store.writing.numbers import JobNumbers
from rota.store.writing.prune import History, Pruned, find_old, remove_answers, remove_events, remove_jobs
from rota.store.writing.write import EPOCH, EVENTS, LOGS_PRUNED, Written


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


class Store(StoreReader):
    """All that is written, beside all that is read. Every method may be called from any thread, and raises
    StoreUnavailable when the database can't be used now; the next call tries again."""

    def __init__(self, database: Database) -> None:
        super().__init__(Connections(database))
        self.numbers = JobNumbers(self.connections)
        self.leases = ServerLeases(self.connections)
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
            self.numbers.give_back()
        self.connections.database.close()

    def commit(self, batch: Batch) -> int:
        """Keeps all of it, and answers the last event's seq.

        After StoreUnavailable nothing of it is kept, unless the connection was lost at the very end: then
        nobody knows yet. Committing the same batch again is safe, it is kept once; committing another raises
        StoreDiverged if the first turns out to have been kept.
        """
        with self.connections.write() as connection:
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
            written = self.connections.writer.write(connection, batch)
            self._in_doubt = batch, written
        self._in_doubt = None
        return written.last_seq

    def _was_kept(self, connection: Connection, batch: Batch, if_kept: Written) -> bool:
        """Adding nothing to a counter waits for a commit that is still under way without us."""
        if batch.events:
            return self.connections.writer.add(connection, EVENTS, 0) == if_kept.last_seq
        return bool(batch.audit) and self.connections.writer.add(connection, AUDIT, 0) == if_kept.last_audit

    def begin_epoch(self, least: int) -> int:
        """That, or the next: above all that were begun before."""
        with self.connections.write() as connection:
            before = self.connections.writer.add(connection, EPOCH, 0)
            return self.connections.writer.add(connection, EPOCH, max(1, least - before))

    def end_leases(self) -> None:
        """After a restore, when no server runs."""
        with self.connections.write() as connection:
            leases.end_all(connection)

    def forget(self, ids: Iterable[JobId], with_events: bool = False) -> list[JobId]:
        """Removes those that have ended, with their attempts and estimates; answers which these were."""
        keys = [key for key in map(find_key, ids) if key is not None]
        with self.connections.write() as connection:
            return remove_jobs(connection, self.connections.writer, keys, with_events)

    def prune(self, history: History, now_ms: int, at_most: int = 200, with_events: bool = False) -> Pruned:
        """One step: to be called until it says that this is all. Answers what was removed."""
        with self.connections.read() as connection:
            found = find_old(connection, history, now_ms, at_most)
        if not found.keys:
            return Pruned([], found.is_all)
        with self.connections.write() as connection:
            return Pruned(
                remove_jobs(connection, self.connections.writer, found.keys, with_events), found.is_all
            )

    def note_logs_pruned(self, ended_ms: int) -> None:
        """What jobs wrote that ended up to then is gone."""
        with self.connections.write() as connection:
            self.connections.writer.raise_to(connection, LOGS_PRUNED, ended_ms)

    def forget_events(self, before_ms: int, at_most: int = 1000) -> int:
        """Removes events of long ago; answers how many."""
        with self.connections.write() as connection:
            return remove_events(connection, before_ms, at_most)

    def forget_answers(self, before_ms: int, at_most: int = 1000) -> int:
        """Removes old answers to requests with a key; answers how many."""
        with self.connections.write() as connection:
            return remove_answers(connection, before_ms, at_most)

    def forget_audit(self, before_ms: int | None, keep: int | None, at_most: int = 1000) -> int:
        """Removes the oldest audit records: those of long ago, and those beyond so many; answers how many."""
        with self.connections.write() as connection:
            return remove_audit(connection, before_ms, keep, at_most)

    def authority(self, make: Callable[[], bytes]) -> bytes:
        """The cluster's own, or the one that is made: of several servers that make one, one is kept."""
        with self.connections.write() as connection:
            return first_of_its_kind(connection, Kind.AUTHORITY, make)

    def files_marker(self, make: Callable[[], bytes]) -> bytes:
        """Of the folder that all servers of the database keep files in: that of the first."""
        with self.connections.write() as connection:
            return first_of_its_kind(connection, Kind.FILES, make)
