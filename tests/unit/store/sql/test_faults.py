"""What databases say, and what is made of it."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from rota.store.errors import StoreCorrupt, StoreUnavailable, ValueRejected
from rota.store.sql.faults import told_plainly, translated


def of_sqlite(name: str) -> DBAPIError:
    cause = sqlite3.OperationalError("as it says")
    cause.sqlite_errorcode = getattr(sqlite3, name)
    return DBAPIError("INSERT", {}, cause)


@pytest.mark.parametrize(
    "code, kind, says",
    [
        ("SQLITE_FULL", StoreUnavailable, "disk is full"),
        ("SQLITE_IOERR_WRITE", StoreUnavailable, "disk can't be read or written"),
        ("SQLITE_BUSY", StoreUnavailable, "another process"),
        ("SQLITE_BUSY_SNAPSHOT", StoreUnavailable, "another process"),
        ("SQLITE_CANTOPEN", StoreUnavailable, "can't be opened"),
        ("SQLITE_READONLY_DBMOVED", StoreUnavailable, "can't be written"),
        ("SQLITE_NOTADB", StoreCorrupt, "is none"),
        ("SQLITE_CORRUPT_VTAB", StoreCorrupt, "damaged"),
    ],
)
def test_errors_of_sqlite(code: str, kind: type[Exception], says: str) -> None:
    told = translated(of_sqlite(code))
    assert type(told) is kind
    assert says in str(told)
    assert "as it says" in str(told)


@pytest.mark.parametrize(
    "cause, kind, says",
    [
        (errors.DiskFull("no\nspace"), StoreUnavailable, "disk is full"),
        (errors.AdminShutdown(), StoreUnavailable, "doesn't answer"),
        (errors.TooManyConnections(), StoreUnavailable, "doesn't answer"),
        (errors.ReadOnlySqlTransaction(), StoreUnavailable, "doesn't answer"),
        (errors.DeadlockDetected(), StoreUnavailable, "doesn't answer"),
        (psycopg.OperationalError("connection refused"), StoreUnavailable, "can't be reached"),
        (errors.DataCorrupted(), StoreCorrupt, "damaged"),
        (errors.IndexCorrupted(), StoreCorrupt, "damaged"),
        (errors.ForeignKeyViolation("no such job"), ValueRejected, "no such job"),
        (errors.NumericValueOutOfRange(), ValueRejected, "won't store"),
    ],
)
def test_errors_of_postgresql(cause: psycopg.Error, kind: type[Exception], says: str) -> None:
    told = translated(DBAPIError("INSERT", {}, cause))
    assert type(told) is kind
    assert says in str(told)
    assert "\n" not in str(told)


@pytest.mark.parametrize("cause", [sqlite3.ProgrammingError("closed"), errors.UndefinedTable("no table")])
def test_a_fault_of_our_own_stays_what_it_is(cause: Exception) -> None:
    error = DBAPIError("SELECT", {}, cause)
    with pytest.raises(DBAPIError) as caught, told_plainly():
        raise error
    assert caught.value is error


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), told_plainly():
        raise KeyError("a")
