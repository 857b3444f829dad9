"""A disk, and SQLite's connections to a database on it, which fail where real ones would.

Each process works on files of its own. When it is killed, these are copied for the next one before its
connections are closed: neither their locks nor the checkpoint of the last to close reach the copy.

Killing a process loses nothing that it wrote. A loss of power does, of what nobody has heard to be synced.
With `synchronous = FULL`, SQLite syncs its log (`-wal`) at every commit. A checkpoint syncs the log before it
writes to the database itself, and the database before the log may begin anew. How far each has come is told
by the log's index (`-shm`). https://www.sqlite.org/walformat.html
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from shutil import copyfile, rmtree
from struct import Struct as Layout
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from rota.store.store import open_store

_LOG_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_PAGE_NUMBER = Layout(">I")
"""What the header of a frame begins with."""
_INDEX = Layout("=14xHI12x8s56xI")
"""Bytes of a page, frames, salts; behind a second copy of these, how many frames are in the database."""
_CHECKPOINT_PAGES = 100
"""SQLite's own 1,000 are more than a run writes."""
_FULL = 2
"""Of PRAGMA synchronous."""


class Weather(Struct):
    """What goes wrong with the disk at the moment."""

    is_full: bool = False
    loses_connection: float = 0.0
    """How often that happens right at the end of a commit, so that nobody knows whether it was kept."""


class Written(Struct, frozen=True):
    """How far the log and the database are."""

    salts: bytes = b""
    """Others, once the log begins anew: all that it held is in the database then, and synced."""
    frames: int = 0
    copied: int = 0
    """So many of them into the database, by a checkpoint."""
    page_bytes: int = 0

    @property
    def frame_bytes(self) -> int:
        return _FRAME_HEADER_BYTES + self.page_bytes


class Disk:
    def __init__(self, folder: Path, weather: Weather, chance: Random) -> None:
        self.weather = weather
        self.chance = chance
        self._folder = folder
        self._processes = 0
        self._index: int | None = None
        self._written = self._synced = self._heard = Written()
        self._before_commit: Callable[[sqlite3.Connection], None] = _nobody_asks
        self._once_written: list[Callable[[], None]] = []
        self._own_folder().mkdir(parents=True)
        self.database.write_bytes(_new_database())

    @property
    def database(self) -> Path:
        """Of the process there is, or of the next."""
        return self._own_folder() / "rota.db"

    def _own_folder(self) -> Path:
        return self._folder / str(self._processes)

    @property
    def pages_in_log(self) -> int:
        return self._written.frames

    def connect(self, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        """A factory for `sqlite3.connect`."""
        return _Connection(self, *args, **kwargs)

    @contextmanager
    def asked_before_commit(self, ask: Callable[[sqlite3.Connection], None]) -> Iterator[None]:
        """Right before a transaction is written indeed."""
        self._before_commit = ask
        try:
            yield
        finally:
            self._before_commit = _nobody_asks

    def once_written(self, then: Callable[[], None]) -> None:
        """Calls it after the next commit, of which nobody knows at that moment."""
        self._once_written.append(then)

    # -- what connections tell

    def opened(self) -> None:
        """By a process that found what the one before had left."""
        self._written = self._look()
        if self._written.copied == self._written.frames:
            self._synced = self._heard = self._written

    def is_to_be_written(self, connection: sqlite3.Connection) -> None:
        self._before_commit(connection)

    def was_written(self, is_synced: bool) -> None:
        self._written = self._look()
        if is_synced:
            self._synced = self._written
        waiting, self._once_written = self._once_written, []
        for then in waiting:
            then()

    def heard(self) -> None:
        """Whoever wrote it knows that it did: from now on it has to be there."""
        self._heard = self._synced

    def _look(self) -> Written:
        if self._index is None:
            # Held until the connections are closed: to close it takes the locks away that SQLite has on it.
            self._index = os.open(f"{self.database}-shm", os.O_RDONLY)
        page_bytes, frames, salts, copied = _INDEX.unpack(os.pread(self._index, _INDEX.size, 0))
        return Written(salts, frames, copied, page_bytes)

    # -- what becomes of it

    def outlive_process(self, close: Callable[[], None]) -> None:
        """It was killed. `close` is for its connections."""
        before, own_folder = self.database, self._own_folder()
        self._processes += 1
        self._own_folder().mkdir()
        copyfile(before, self.database)
        if _log(before).exists():
            copyfile(_log(before), _log(self.database))
        else:  # It ended in good order, and all is in the database.
            self._written = self._synced = self._heard = Written()
        close()
        self._close_index()
        rmtree(own_folder)

    def lose_power(self) -> str:
        """Of what nobody has heard of, all may be there, or nothing, or a part with garbage at its end. Tells
        which."""
        written, heard = self._written, self._heard
        if written.salts != heard.salts:
            heard = Written(written.salts)
        if written.copied > heard.copied:
            return self._tear_pages(written)
        if written.frames > heard.frames:
            return self._tear_log(written, heard.frames)
        return "nothing was under way"

    def _tear_log(self, written: Written, sure: int) -> str:
        unsure = written.frames - sure
        end = _LOG_HEADER_BYTES + sure * written.frame_bytes
        with _log(self.database).open("r+b") as log:
            match self.chance.randrange(3):
                case 0:
                    return f"{unsure} unsynced pages survived"
                case 1:
                    log.truncate(end)
                    return f"{unsure} unsynced pages were lost"
                case _:
                    left = self.chance.randrange(unsure)
                    torn = self.chance.randrange(written.frame_bytes)
                    log.truncate(end + left * written.frame_bytes + torn)
                    log.seek(0, os.SEEK_END)
                    log.write(self.chance.randbytes(self.chance.randrange(2 * written.frame_bytes)))
                    return f"{unsure} unsynced pages were torn after {left}"

    def _tear_pages(self, written: Written) -> str:
        """Those that a checkpoint was copying: the log has them all."""
        torn = 0
        with _log(self.database).open("rb") as log, self.database.open("r+b") as database:
            for frame in range(written.copied):
                log.seek(_LOG_HEADER_BYTES + frame * written.frame_bytes)
                (page,) = _PAGE_NUMBER.unpack(log.read(_PAGE_NUMBER.size))
                if self.chance.random() < 0.5:
                    database.seek((page - 1) * written.page_bytes)
                    database.write(self.chance.randbytes(written.page_bytes))
                    torn += 1
        return f"{torn} of {written.copied} pages were torn while they were copied"

    def _close_index(self) -> None:
        if self._index is not None:
            os.close(self._index)
            self._index = None


class _Connection(sqlite3.Connection):
    def __init__(self, disk: Disk, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._disk = disk
        self._changes = 0
        """That are kept, or taken back."""
        self.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")

    def commit(self) -> None:
        if self.total_changes == self._changes:
            super().commit()
            return
        disk = self._disk
        if disk.weather.is_full:
            raise _error("database or disk is full", sqlite3.SQLITE_FULL)
        is_lost = disk.chance.random() < disk.weather.loses_connection
        if not (is_lost and disk.chance.random() < 0.5):
            disk.is_to_be_written(self)
            super().commit()
            self._changes = self.total_changes
            disk.was_written(self._is_synced())
        if is_lost:
            raise _error("disk I/O error", sqlite3.SQLITE_IOERR)

    def rollback(self) -> None:
        super().rollback()
        self._changes = self.total_changes

    def _is_synced(self) -> bool:
        return bool(self.execute("PRAGMA synchronous").fetchone()[0] >= _FULL)


def _error(text: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


def _nobody_asks(_: sqlite3.Connection) -> None:
    pass


def _log(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


@cache
def _new_database() -> bytes:
    """With its tables: to make them takes as long as a good part of a run."""
    with TemporaryDirectory(prefix="rota-faults-") as folder:
        path = Path(folder) / "rota.db"
        open_store(f"sqlite:///{path}").close()
        return path.read_bytes()
