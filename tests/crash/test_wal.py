"""A damaged log loses what wasn't synced, and nothing else."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from rota.store.sql.database import connect
from tests.crash.wal import Log
from tests.real.conftest import missing

ROWS = 20
FULL = 2


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "live.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = 10")  # So that a transaction is written before it ends.
        connection.execute("CREATE TABLE kept (number INTEGER, body BLOB)")
        for number in range(ROWS):
            connection.execute("INSERT INTO kept VALUES (?, randomblob(9000))", (number,))
        yield connection


def begin_what_is_lost(writing: sqlite3.Connection) -> None:
    writing.execute("BEGIN")
    for _ in range(50):
        writing.execute("INSERT INTO kept VALUES (-1, randomblob(9000))")


def killed(tmp_path: Path, name: str, is_synced: bool = True) -> Path:
    """The files, as a process that was killed at this moment would leave them."""
    for suffix in ("", "-wal", "-shm"):
        copy = tmp_path / f"{name}.db{suffix}"
        shutil.copyfile(tmp_path / f"live.db{suffix}", copy)
        if is_synced:
            with copy.open("rb") as file:
                os.fsync(file.fileno())
    return tmp_path / f"{name}.db"


def kept(database: Path) -> list[int]:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [number for (number,) in connection.execute("SELECT number FROM kept ORDER BY number")]


def test_it_knows_what_is_synced(writing: sqlite3.Connection, tmp_path: Path) -> None:
    log = Log(tmp_path / "live.db")
    synced = log.synced()
    assert synced is not None
    assert synced.end == log.path.stat().st_size
    assert log.unsynced_frames() == 0
    begin_what_is_lost(writing)
    assert log.synced() == synced
    assert log.unsynced_frames() > 10
    writing.execute("COMMIT")
    after = log.synced()
    assert after is not None
    assert after.frames > synced.frames
    assert log.unsynced_frames() == 0


def test_what_is_synced_stays(writing: sqlite3.Connection, tmp_path: Path) -> None:
    begin_what_is_lost(writing)
    done = set()
    for seed in range(40):
        database = killed(tmp_path, str(seed))
        before = database.with_name(f"{seed}.db-wal").read_bytes()
        done.add(Log(database).damage(Random(seed)).split()[3])
        assert database.with_name(f"{seed}.db-wal").read_bytes() != before
        assert kept(database) == list(range(ROWS))
    assert done == {"cut", "emptied", "torn", "grown"}


def test_a_log_that_began_anew(writing: sqlite3.Connection, tmp_path: Path) -> None:
    """Behind its end there is what it held before."""
    writing.execute("PRAGMA wal_checkpoint")
    writing.execute("INSERT INTO kept VALUES (?, NULL)", (ROWS,))
    log = Log(tmp_path / "live.db")
    synced = log.synced()
    assert synced is not None
    assert synced.end < log.path.stat().st_size
    assert log.unsynced_frames() == 0
    for seed in range(20):
        database = killed(tmp_path, str(seed))
        Log(database).damage(Random(seed))
        assert kept(database) == list(range(ROWS + 1))


def test_what_is_counted_and_not_synced_is_lost(writing: sqlite3.Connection, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("the kernel tells only root what isn't on disk")
    writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(ROWS, 2 * ROWS):
        writing.execute("INSERT INTO kept VALUES (?, randomblob(9000))", (number,))
    rows = []
    for seed in range(20):
        database = killed(tmp_path, str(seed), is_synced=False)
        Log(database).damage(Random(seed))
        rows.append(len(kept(database)))
    assert ROWS <= min(rows) < 2 * ROWS


def test_the_store_syncs_what_it_keeps(tmp_path: Path) -> None:
    """Otherwise the index would count frames that may be lost."""
    database = connect(f"sqlite:///{tmp_path / 'rota.db'}", 1)
    try:
        with database.writer.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == FULL
    finally:
        database.disconnect()


def test_more_damage_would_be_seen(writing: sqlite3.Connection, tmp_path: Path) -> None:
    database = killed(tmp_path, "more")
    synced = Log(database).synced()
    assert synced is not None
    with Log(database).path.open("r+b") as file:
        file.truncate(synced.end - 1)
    assert kept(database) == list(range(ROWS - 1))
