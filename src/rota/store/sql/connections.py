"""Transactions on an open database: those that read, those that write, and those of leases."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from rota.clock import since_boot_s
from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker, BreakerState
from rota.patience.guard import Guard
from rota.store.errors import StoreRefused, StoreUnavailable
from rota.store.sql import leases
from rota.store.sql.database import Database
from rota.store.sql.faults import told_plainly
from rota.store.sql.leases import Leadership
from rota.store.writing.write import BatchWriter

_BREAKER = Breaker(limit=5, pauses=Backoff(first_s=0.5, longest_s=5.0))


class Connections:
    """Every method may be called from any thread. A transaction is committed when its block ends, and rolled
    back if the block raises."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.writer = BatchWriter(database.writer.dialect.name)
        """For whoever has a transaction that writes."""
        self._writing = threading.Lock()
        self._leadership: Leadership | None = None
        self._reading = Guard(_BREAKER, since_boot_s)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self._admit_reading()
        try:
            with told_plainly():
                self.database.ensure_still_there()
                with self.database.readers.begin() as connection:
                    yield connection
        except StoreUnavailable:
            self._reading.failed()
            raise
        self._reading.succeeded()

    def _admit_reading(self) -> None:
        """A file answers or fails at once; a server that is gone keeps everybody waiting who asks."""
        wait_s = 0.0 if self.database.is_sqlite else self._reading.admit()
        if wait_s > 0:
            raise StoreUnavailable(
                f"the database hasn't answered {self._reading.failures} times in a row: "
                f"the next try is in {wait_s:.1f} s"
            )

    @property
    def is_left_alone(self) -> bool:
        """It hasn't answered too many times in a row, and isn't asked for a while."""
        return self._reading.state is BreakerState.OPEN

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One at a time."""
        with self._writing, told_plainly():
            self.database.ensure_still_there()
            try:
                with self.database.writer.begin() as connection:
                    if self._leadership is not None:
                        leases.ensure_led(connection, self._leadership)
                    yield connection
            except BaseException:
                self.writer.forget()
                raise

    def write_as(self, leadership: Leadership) -> None:
        """From now on, all that is written carries its token."""
        with self._writing:
            self._leadership = leadership
            self.writer.forget()

    @contextmanager
    def lease(self) -> Iterator[Connection]:
        engine = self.database.leases
        if engine is None:
            raise StoreRefused("an SQLite database has one server: use PostgreSQL for several")
        with told_plainly(), engine.begin() as connection:
            yield connection
