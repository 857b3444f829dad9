"""Numbers for jobs: none is ever given out twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sqlalchemy import update

from rota.store.errors import StoreUnavailable
from rota.store.sql.connections import Connections
from rota.store.sql.tables import counters
from rota.store.writing.write import NUMBERS

NUMBERS_AT_ONCE = 100
"""Taken from the database in one go. A crash loses those that are left; a close gives them back."""


class JobNumbers:
    """Every method may be called from any thread, and raises StoreUnavailable when the database can't be used
    now."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._allocating = threading.Lock()
        self._left = range(0)
        self._note: Callable[[int], None] = lambda up_to: None

    def allocate(self, count: int) -> int:
        """The first of so many fresh numbers."""
        with self._allocating:
            if count > len(self._left):
                taken = max(count, NUMBERS_AT_ONCE)
                with self._connections.write() as connection:
                    last = self._connections.writer.add(connection, NUMBERS, taken)
                self._note_them(last)
                self._left = range(last - taken + 1, last + 1)
            first = self._left.start
            self._left = self._left[count:]
            return first

    def skip(self, up_to: int) -> int:
        """None of these is given out from now on; answers the highest that was, or won't be."""
        with self._allocating, self._connections.write() as connection:
            given = self._connections.writer.add(connection, NUMBERS, 0)
            if given >= up_to:
                return given
            self._left = range(0)
            return self._connections.writer.add(connection, NUMBERS, up_to - given)

    def give_back(self) -> None:
        """So that numbers go on without a gap, if nobody has taken more in the meantime."""
        with self._allocating:
            if not self._left:
                return
            left, self._left = self._left, range(0)
            with self._connections.write() as connection:
                given_back = connection.execute(
                    update(counters)
                    .where(counters.c.name == NUMBERS, counters.c.value == left[-1])
                    .values(value=left.start - 1)
                ).rowcount
            if given_back:
                self._note_them(left.start - 1)

    def note_by(self, note: Callable[[int], None]) -> None:
        """Who is told, each time before numbers are used, how high they may go. Raises OSError if it can't
        be noted: then none is given out."""
        self._note = note

    def _note_them(self, up_to: int) -> None:
        try:
            self._note(up_to)
        except OSError as error:
            raise StoreUnavailable(f"{error.filename}: {error.strerror}") from None
