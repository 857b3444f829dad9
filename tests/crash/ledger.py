"""What a controller keeps, on disk: its actions as they stand, and all that it was ever told, in order.

SQLite syncs each commit before it returns, so that a controller can be killed at any moment.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, json, msgpack

from rota.stateless_scheduler.client import Action, Ended, FilePart, Output, Placement, Refused
from tests.crash.jobs import Form

_PATIENCE_S = 30.0
_TABLES = """
CREATE TABLE IF NOT EXISTS actions (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, form BLOB, job BLOB, submitted_ms INTEGER, placement BLOB,
    fence INTEGER, last_fence INTEGER DEFAULT 0, output_bytes INTEGER DEFAULT 0,
    is_cancelled INTEGER DEFAULT 0, is_over INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS told (number INTEGER PRIMARY KEY, at_ms INTEGER, action TEXT, word BLOB);
"""


class Placed(Struct, frozen=True, tag=True):
    fence: int
    node: str


class Waits(Struct, frozen=True, tag=True):
    reason: str


class Runs(Struct, frozen=True, tag=True):
    fence: int


class Wrote(Struct, frozen=True, tag=True):
    fence: int
    offset_bytes: int
    data: bytes


class Left(Struct, frozen=True, tag=True):
    """Part of a file."""

    fence: int
    path: str
    offset_bytes: int
    data: bytes
    is_last: bool


class Over(Struct, frozen=True, tag=True):
    end: Ended


class NotTaken(Struct, frozen=True, tag=True):
    field: str
    problem: str


Word: TypeAlias = Placed | Waits | Runs | Wrote | Left | Over | NotTaken
_WORDS = msgpack.Decoder[Word](Word)


class Told(Struct, frozen=True):
    action: str
    at_ms: int
    """When it was recorded, or before."""
    word: Word


class Kept(Struct, frozen=True):
    """An action, as far as it never changes but once."""

    id: str
    form: Form
    is_cancelled: bool


class DiskLedger:
    """Implements Ledger of rota.stateless_scheduler.client."""

    def __init__(self, path: Path) -> None:
        self._database = _open(path)
        self._database.execute("PRAGMA synchronous = FULL")

    # -- what its controller has decided

    def count(self) -> int:
        """Of all actions there ever were."""
        return self._number("SELECT count(*) FROM actions")

    def count_unfinished(self) -> int:
        return self._number("SELECT count(*) FROM actions WHERE NOT is_over")

    def add(self, action: Action, form: Form) -> None:
        with self._database:
            self._database.execute(
                "INSERT INTO actions (id, form, job, submitted_ms) VALUES (?, ?, ?, ?)",
                (action.id, json.encode(form), json.encode(action.job), action.submitted_ms),
            )

    def latest(self, count: int) -> list[tuple[str, Form]]:
        rows = self._database.execute("SELECT id, form FROM actions ORDER BY number DESC LIMIT ?", (count,))
        return [(id, json.decode(form, type=Form)) for id, form in rows]

    def cancel(self, ids: Iterable[str]) -> None:
        with self._database:
            self._database.executemany(
                "UPDATE actions SET is_cancelled = 1 WHERE id = ?", ((id,) for id in ids)
            )

    def cancelled(self) -> list[str]:
        """That aren't over yet."""
        return [
            id
            for (id,) in self._database.execute("SELECT id FROM actions WHERE is_cancelled AND NOT is_over")
        ]

    def unfinished(self) -> Iterator[Action]:
        rows = self._database.execute(
            "SELECT id, job, submitted_ms, placement, output_bytes, last_fence FROM actions"
            " WHERE NOT is_over ORDER BY number"
        )
        for id, job, submitted_ms, placement, output_bytes, last_fence in rows.fetchall():
            yield Action(
                id,
                json.decode(job),
                submitted_ms=submitted_ms,
                placement=None if placement is None else msgpack.decode(placement, type=Placement),
                output_bytes=output_bytes,
                last_fence=last_fence,
            )

    # -- what it is told

    async def placed(self, placements: Sequence[Placement]) -> None:
        with self._database:
            for one in placements:
                self._tell(one.action, Placed(one.fence, one.node))
                self._database.execute(
                    "UPDATE actions SET placement = ?, fence = ?, last_fence = ?, output_bytes = 0"
                    " WHERE id = ?",
                    (msgpack.encode(one), one.fence, one.fence, one.action),
                )

    async def waiting(self, actions: Sequence[str], reason: str) -> None:
        with self._database:
            for action in actions:
                self._tell(action, Waits(reason))
                self._database.execute(
                    "UPDATE actions SET placement = NULL, fence = NULL, output_bytes = 0 WHERE id = ?",
                    (action,),
                )

    async def running(self, action: str, fence: int, at_ms: int) -> None:
        with self._database:
            self._tell(action, Runs(fence))

    async def output(self, output: Output) -> None:
        data = b"".join(piece.data for piece in output.pieces)
        with self._database:
            self._tell(output.action, Wrote(output.fence, output.offset_bytes, data))
            self._database.execute(
                "UPDATE actions SET output_bytes = ? WHERE id = ? AND fence = ?",
                (output.offset_bytes + len(data), output.action, output.fence),
            )

    async def file(self, part: FilePart) -> None:
        with self._database:
            self._tell(part.action, Left(part.fence, part.path, part.offset_bytes, part.data, part.is_last))

    async def ended(self, ended: Ended) -> None:
        with self._database:
            self._tell(ended.action, Over(ended))
            self._database.execute("UPDATE actions SET is_over = 1 WHERE id = ?", (ended.action,))

    async def refused(self, refused: Refused) -> None:
        with self._database:
            self._tell(refused.action, NotTaken(refused.field, refused.problem))

    def _tell(self, action: str, word: Word) -> None:
        self._database.execute(
            "INSERT INTO told (at_ms, action, word) VALUES (?, ?, ?)",
            (time.time_ns() // 1_000_000, action, msgpack.encode(word)),
        )

    def _number(self, query: str) -> int:
        [[number]] = self._database.execute(query)
        assert isinstance(number, int)
        return number


class LedgerReader:
    """Somebody else who looks, while its controller is there or not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def kept(self) -> list[Kept]:
        return [
            Kept(id, json.decode(form, type=Form), bool(is_cancelled))
            for id, form, is_cancelled in self._rows("SELECT id, form, is_cancelled FROM actions")
        ]

    def told(self) -> list[Told]:
        """What is new since the last time."""
        rows = self._rows("SELECT number, action, at_ms, word FROM told WHERE number > ?", self._read)
        if rows:
            self._read = rows[-1][0]
        return [Told(action, at_ms, _WORDS.decode(word)) for _, action, at_ms, word in rows]

    def count_told(self) -> int:
        """Of everything there ever was."""
        [[count]] = self._rows("SELECT count(*) FROM told")
        assert isinstance(count, int)
        return count

    def _rows(self, query: str, *values: object) -> list[Any]:
        with closing(_open(self._path)) as database:
            return database.execute(query, values).fetchall()


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE_S)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(_TABLES)
    return database
