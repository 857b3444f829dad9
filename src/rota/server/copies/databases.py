"""Databases as files: SQLite's online backup, and PostgreSQL's own programs. Both copy one moment, whatever a
server writes meanwhile."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, Connection, inspect, make_url, text
from sqlalchemy.exc import ArgumentError

from rota.control.leader import LEASE
from rota.server.copies.errors import CopyError
from rota.store.sql import leases
from rota.store.sql.database import connect
from rota.store.sql.faults import told_plainly

SQLITE_COPY = "rota.db"
POSTGRES_COPY = "rota.pgdump"
_COUNTS = ("SELECT count(*) FROM jobs", "SELECT count(*) FROM records WHERE kind = 'token'")


def kind_of(url: str) -> str:
    """sqlite or postgresql."""
    try:
        return make_url(url).get_backend_name()
    except ArgumentError:
        raise CopyError("server.database is not a URL of a database; see docs/settings.md") from None


def sqlite_path(url: str) -> Path:
    return Path(make_url(url).database or "").absolute()


def copy_sqlite(path: Path, target: Path) -> None:
    if not path.is_file():
        raise CopyError(f"{path}: there is no database; give the server's data folder with --data")
    _create_private(target)
    try:
        with closing(sqlite3.connect(path, timeout=60)) as source, closing(sqlite3.connect(target)) as copy:
            # All pages in one step: it reads one moment, and in WAL mode nobody waits for it.
            source.backup(copy, pages=-1)
            # One file alone, without the log that goes with it.
            copy.execute("PRAGMA journal_mode = DELETE")
            [(verdict,)] = copy.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        raise CopyError(f"{path} can't be copied: {error}") from None
    if verdict != "ok":
        raise CopyError(f"{path} is damaged: {verdict}; use an earlier copy")


def dump_postgres(url: str, target: Path) -> None:
    _create_private(target)
    _run(url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def restore_postgres(url: str, dump: Path, *, clean: bool) -> None:
    """In one transaction: all of it, or nothing. `clean`: what is there goes."""
    words = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    if clean:
        words += ["--clean", "--if-exists"]
    _run(url, "pg_restore", *words, str(dump))


def _run(url: str, program: str, *words: str) -> None:
    """The password goes by the environment: others see command lines."""
    found = shutil.which(program)
    if found is None:
        raise CopyError(f"{program} isn't installed: install PostgreSQL's client programs, or copy by hand")
    at = make_url(url).set(drivername="postgresql")
    password = {} if at.password is None else {"PGPASSWORD": str(at.password)}
    done = subprocess.run(
        [found, f"--dbname={_without_password(at)}", *words],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise CopyError(f"{program} failed: {done.stderr.strip()}")


def _without_password(url: URL) -> str:
    # A URL can't be made without one by `set`, for which None means: as it is.
    return URL.create(
        "postgresql", url.username, None, url.host, url.port, url.database, url.query
    ).render_as_string(hide_password=False)


def _create_private(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


class Counts(NamedTuple):
    jobs: int
    tokens: int


def counts_of_sqlite(path: Path) -> Counts:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
        try:
            return Counts(*(copy.execute(question).fetchone()[0] for question in _COUNTS))
        except sqlite3.Error as error:
            raise CopyError(f"{path} isn't a database of Rota: {error}") from None


def counts_of_postgres(url: str) -> Counts:
    with _reading(url) as connection:
        return Counts(*(connection.execute(text(question)).scalar_one() for question in _COUNTS))


def in_use_by(url: str) -> str | None:
    """The server that leads on a PostgreSQL database now; None: none does."""
    with _reading(url) as connection:
        if not inspect(connection).has_table("leases"):
            return None
        lease = leases.find(connection, LEASE)
    return (lease.address or lease.holder) if lease is not None and lease.left_ms > 0 else None


def is_empty_postgres(url: str) -> bool:
    with _reading(url) as connection:
        return not inspect(connection).get_table_names()


@contextmanager
def _reading(url: str) -> Iterator[Connection]:
    with told_plainly():
        database = connect(url, 1)
        try:
            with database.readers.begin() as connection:
                yield connection
        finally:
            database.close()
