"""What a database says when something is wrong, told as what it means for Rota."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from msgspec import MsgspecError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from rota.store.errors import StoreCorrupt, StoreUnavailable, ValueRejected

_SQLITE_PRIMARY = 0xFF
_SQLITE_CORRUPT = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_SQLITE_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: free some room on it",
    sqlite3.SQLITE_BUSY: "another process holds the database: end it, or wait until it is done",
    sqlite3.SQLITE_LOCKED: "another process holds the database: end it, or wait until it is done",
    sqlite3.SQLITE_IOERR: "the disk can't be read or written: see the kernel's log, and whether it is full",
    sqlite3.SQLITE_CANTOPEN: "the file can't be opened: see whether it and its folder are there and writable",
    sqlite3.SQLITE_READONLY: "the file can't be written: see its permissions, and those of its folder",
    sqlite3.SQLITE_PERM: "the file can't be opened: see its permissions",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}

_POSTGRES_CORRUPT = ("XX001", "XX002")
_POSTGRES_PASSING = ("08", "25006", "40", "53", "55", "57", "58")
"""Connections, a standby that takes no writes, conflicts, full disks, locks, shutdowns, I/O: these pass."""

_REJECTIONS = (sqlite3.IntegrityError, sqlite3.DataError, psycopg.IntegrityError, psycopg.DataError)


@contextmanager
def told_plainly() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, MsgspecError, OverflowError, UnicodeError) as error:
        raise translated(error) from error


def translated(error: Exception) -> Exception:
    """The error itself where it is a fault of Rota's."""
    match error:
        case DBAPIError(orig=sqlite3.Error() as cause):
            return _of_sqlite(cause, error)
        case DBAPIError(orig=psycopg.Error() as cause):
            return _of_postgres(cause, error)
        case NoConnectionFree():
            return StoreUnavailable("all connections to the database are busy: try again in a moment")
        case OverflowError():
            return ValueRejected(f"a number is too large to be stored: {error}")
        case UnicodeError():
            return ValueRejected(f"a text isn't valid Unicode: {error}")
        case MsgspecError():
            return StoreCorrupt(f"the database holds what this Rota can't read: {error}")
    return error


def _of_sqlite(cause: sqlite3.Error, error: DBAPIError) -> Exception:
    # Errors that Python's module raises by itself, as for a wrong parameter, have no code.
    code = getattr(cause, "sqlite_errorcode", 0) & _SQLITE_PRIMARY
    if code in _SQLITE_CORRUPT:
        return StoreCorrupt(f"the database is damaged, or is none ({cause}): bring back a copy of it")
    if code in _SQLITE_ADVICE:
        return StoreUnavailable(f"{_SQLITE_ADVICE[code]} ({cause})")
    return _rejected_or_fault(cause, error)


def _of_postgres(cause: psycopg.Error, error: DBAPIError) -> Exception:
    state = cause.sqlstate or ""
    text = " ".join(str(cause).split())
    if state.startswith(_POSTGRES_CORRUPT):
        return StoreCorrupt(f"the database is damaged ({text}): bring back a copy of it")
    if state.startswith("53100"):
        return StoreUnavailable(f"the database's disk is full: free some room on it ({text})")
    if error.connection_invalidated or state.startswith(_POSTGRES_PASSING):
        return StoreUnavailable(f"the database doesn't answer: see whether it runs ({text})")
    if isinstance(cause, psycopg.OperationalError):
        return StoreUnavailable(f"the database can't be reached: see whether it runs, and its URL ({text})")
    return _rejected_or_fault(cause, error)


def _rejected_or_fault(cause: BaseException, error: DBAPIError) -> Exception:
    if isinstance(cause, _REJECTIONS):
        return ValueRejected(f"the database won't store this: {' '.join(str(cause).split())}")
    return error
