"""Connections to SQLite or PostgreSQL: one that writes, and some that read beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from rota.store.errors import StoreRefused, StoreUnavailable
from rota.store.sql.pinned import PinnedFile

_EXAMPLES = "give sqlite:///PATH or postgresql://USER@HOST/DATABASE"
_BUSY_TIMEOUT_MS = 5_000
_WRITER_CACHE_KIB = 32_768
_READER_CACHE_KIB = 8_192
"""Of SQLite's pages, for each connection. What isn't there is in the kernel's memory, a system call away."""
_CONNECT_TIMEOUT_S = 5
_SILENCE_MS = 30_000
"""How long a PostgreSQL that doesn't answer is waited for, before the connection counts as lost."""
_FROZEN_MS = 10_000
"""How long a transaction may stand still: a server that is frozen within one keeps others from leading."""


class Database:
    def __init__(
        self,
        writer: Engine,
        readers: Engine,
        leases: Engine | None = None,
    ) -> None:
        self.writer = writer
        self.readers = readers
        self.leases = leases
        """For what must not wait until the writer is done; None: only one server can use this database."""
        self._pinned: list[tuple[PinnedFile, str]] = []

    @property
    def is_sqlite(self) -> bool:
        return self.writer.dialect.name == "sqlite"

    def pin(self, path: Path, what: str) -> None:
        """From now on it has to stay the same file, or nothing is read or written any more."""
        try:
            self._pinned.append((PinnedFile(path), what))
        except OSError as error:
            raise StoreUnavailable(f"{what} can't be used: {error.strerror}") from error

    def ensure_still_there(self) -> None:
        """A connection to an SQLite file that was removed would go on writing to nowhere; a server whose
        folder was remade by somebody, to what is theirs."""
        for file, what in self._pinned:
            if not file.is_there:
                self.disconnect()
                raise StoreUnavailable(f"{what} is gone or was replaced: put it back, or restart the server")

    def disconnect(self) -> None:
        """The next call connects anew."""
        self.writer.dispose()
        self.readers.dispose()
        if self.leases is not None:
            self.leases.dispose()

    def close(self) -> None:
        self.disconnect()
        for file, _ in self._pinned:
            file.release()


def connect(
    url: str, read_threads: int, sqlite: Callable[..., sqlite3.Connection] = sqlite3.Connection
) -> Database:
    """Nothing is sent to a server yet; the file of an SQLite database is there afterwards."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StoreRefused(f"this is not a URL of a database; {_EXAMPLES}") from None
    match parsed.get_backend_name():
        case "sqlite":
            return _connect_sqlite(parsed, read_threads, sqlite)
        case "postgresql":
            return _connect_postgres(parsed, read_threads)
        case other:
            raise StoreRefused(f"Rota can't use a database of {other}; {_EXAMPLES}")


def _connect_sqlite(url: URL, read_threads: int, make: Callable[..., sqlite3.Connection]) -> Database:
    if not url.database or url.database == ":memory:":
        raise StoreRefused(f"a database in memory would be lost at the end; {_EXAMPLES}")
    path = Path(url.database).absolute()
    _create_file(path)
    # mode=rw: a file that was removed in between is an error, and not an empty database.
    at = URL.create("sqlite+pysqlite", database=f"file:{_escaped(path)}", query={"mode": "rw", "uri": "true"})
    arguments: dict[str, Any] = {"check_same_thread": False, "factory": make}
    writer = create_engine(at, connect_args=arguments, pool_size=1, max_overflow=0)
    readers = create_engine(at, connect_args=arguments, pool_size=read_threads, max_overflow=0)
    # A server that was killed may have left what is nowhere but in the kernel's memory. A checkpoint syncs it
    # before anybody is told of it.
    _prepare_sqlite(writer, "BEGIN IMMEDIATE", _WRITER_CACHE_KIB, "PRAGMA wal_checkpoint(PASSIVE)")
    _prepare_sqlite(readers, "BEGIN", _READER_CACHE_KIB, "PRAGMA query_only = ON")
    database = Database(writer, readers)
    database.pin(path, "the database's file")
    return database


def _create_file(path: Path) -> None:
    """For its owner alone: environments can hold secrets. SQLite gives its other files the same mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(path.parent))
    except OSError as error:
        raise StoreUnavailable(
            f"the database {path} can't be written: {error.strerror}; give a file in a folder that can be"
        ) from error


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _prepare_sqlite(engine: Engine, begin: str, cache_kib: int, *more: str) -> None:
    pragmas = (
        f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        f"PRAGMA cache_size = -{cache_kib}",
        *more,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        # Python would begin transactions when it sees fit; `begin` below does it.
        connection.isolation_level = None
        for pragma in pragmas:
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin)


def _connect_postgres(url: URL, read_threads: int) -> Database:
    at = url.set(drivername="postgresql+psycopg")
    arguments: dict[str, Any] = {
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "tcp_user_timeout": _SILENCE_MS,
        "application_name": "rota",
        "options": f"-c idle_in_transaction_session_timeout={_FROZEN_MS}",
        # Else the answers of a database without an encoding are bytes, and nobody can say what is wrong.
        "client_encoding": "utf8",
    }
    for name in arguments.keys() & at.query.keys():
        del arguments[name]
    writer = create_engine(at, connect_args=arguments, pool_size=1, max_overflow=0, pool_pre_ping=True)
    # Many rows in one INSERT: over a network the number of statements is what counts.
    writer.dialect.use_insertmanyvalues_wo_returning = True
    readers = create_engine(
        at,
        connect_args=arguments,
        pool_size=read_threads,
        max_overflow=0,
        pool_pre_ping=True,
        # All statements of one reading see the same state, as they do in SQLite.
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
    )
    leases = create_engine(at, connect_args=arguments, pool_size=1, max_overflow=0, pool_pre_ping=True)
    return Database(writer, readers, leases)
