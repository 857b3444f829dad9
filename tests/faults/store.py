"""The production store, whose every commit is seen by somebody."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from msgspec.structs import replace

from rota.store.sql.database import Database
from rota.store.store import Store, open_database
from rota.store.writing.batch import Batch
from rota.store.writing.write import EVENTS
from tests.faults.disk import Disk


class SeenStore(Store):
    """On a disk that fails."""

    def __init__(self, disk: Disk, see: Callable[[Batch, int], None]) -> None:
        """`see` is called right before a batch is written, with the last event's seq as it will be then."""
        self.database: Database = open_database(f"sqlite:///{disk.database}", sqlite=disk.connect)
        disk.opened()
        super().__init__(self.database)
        self._disk = disk
        self._see = see

    def commit(self, batch: Batch) -> int:
        # As it was asked for, whatever becomes of it on the way.
        asked = replace(batch)
        with self._disk.asked_before_commit(lambda connection: self._see(asked, _last_seq(connection))):
            return super().commit(batch)


def _last_seq(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM counters WHERE name = ?", (EVENTS,)).fetchone()
    return 0 if row is None else int(row[0])
