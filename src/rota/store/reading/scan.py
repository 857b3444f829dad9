"""Pages of a large table, each read with bounded effort.

A listing has several conditions, and an index for each by itself but not for all of them together. It
reads along one index, a *path*, and checks the other conditions row by row. The best path is the one that
gets furthest with a given effort; no page takes more than that. A page can therefore be short, or even
empty, and yet not be the last: it says where the next begins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Select, literal, select, tuple_

EFFORT = 2_000
"""Rows looked at for one page. About 10 ms."""
MAX_STRETCHES = 96
"""Stretches of an index that are read side by side; a path with more isn't taken."""

Check = Callable[[Any], ColumnElement[bool]]
"""A condition, given the columns it is to be checked on."""
Stretch = tuple[tuple[Column[Any], Any], ...]
"""The first columns of an index, and a value for each: such rows are then in the order of the key."""

Columns = Sequence[Column[Any]]


class Path(NamedTuple):
    stretches: Sequence[Stretch]
    checks: Sequence[Check]
    """What the stretches don't guarantee."""


class Span(NamedTuple):
    """Keys strictly between."""

    above: int
    below: int


EVERYTHING = Span(-1, 2**63 - 1)


class Keys(NamedTuple):
    found: list[int]
    next: int | None
    """The key after which to go on; None: there is nothing more."""


class Scan:
    def __init__(self, key: Column[int], checked: Columns, newest_first: bool) -> None:
        """`checked`: the columns that checks look at."""
        self._key = key
        self._columns = (key, *checked)
        self._newest_first = newest_first

    def page(self, connection: Connection, paths: Sequence[Path], span: Span, limit: int) -> Keys:
        path, horizon = self._furthest(connection, paths, span)
        if horizon is not None:
            span = self._up_to(span, horizon)
        found = self._read(connection, path, span, limit + 1)
        if len(found) > limit:
            return Keys(found[:limit], found[limit - 1])
        return Keys(found, horizon)

    def _furthest(self, connection: Connection, paths: Sequence[Path], span: Span) -> tuple[Path, int | None]:
        """The path, and the last key that it reaches; None: it reaches the end."""
        best: tuple[Path, int] | None = None
        for path in sorted(paths, key=lambda path: len(path.checks)):
            if not path.checks:
                return path, None
            horizon = self._horizon(connection, path, span)
            if horizon is None:
                return path, None
            if best is None or (horizon < best[1]) == self._newest_first:
                best = path, horizon
        assert best is not None, "there is always a path: the whole table"
        return best

    def _horizon(self, connection: Connection, path: Path, span: Span) -> int | None:
        share = EFFORT // len(path.stretches)
        reached: list[int] = []
        for stretch in path.stretches:
            last = self._along(connection, stretch, span).offset(share - 1).limit(1)
            key = connection.execute(last).scalar()
            if key is not None:
                reached.append(key)
        if not reached:
            return None
        return max(reached) if self._newest_first else min(reached)

    def _up_to(self, span: Span, horizon: int) -> Span:
        return Span(horizon - 1, span.below) if self._newest_first else Span(span.above, horizon + 1)

    def _read(self, connection: Connection, path: Path, span: Span, limit: int) -> list[int]:
        merged = heapq.merge(
            *(self._keys(connection, path, stretch, span, limit) for stretch in path.stretches),
            reverse=self._newest_first,
        )
        return list(islice(merged, limit))

    def _keys(
        self, connection: Connection, path: Path, stretch: Stretch, span: Span, limit: int
    ) -> Iterator[int]:
        """Of one stretch, some at a time: where there are many stretches, few keys of each are needed."""
        some = limit if path.checks else limit // len(path.stretches) + 8
        while True:
            if path.checks:
                statement = self._checked(connection, stretch, path.checks, span)
            else:
                statement = self._along(connection, stretch, span)
            keys = connection.execute(statement.limit(some)).scalars().all()
            yield from keys
            if len(keys) < some:
                return
            span = Span(span.above, keys[-1]) if self._newest_first else Span(keys[-1], span.below)

    def _along(self, connection: Connection, stretch: Stretch, span: Span) -> Select[Any]:
        return along(connection, (self._key,), stretch, self._key, span, self._newest_first)

    def _checked(
        self, connection: Connection, stretch: Stretch, checks: Sequence[Check], span: Span
    ) -> Select[Any]:
        # Materialized: else the database might take another index, for a check, and read all of that.
        all_rows = within(connection, self._columns, stretch, self._key, span)
        rows = all_rows.cte("rows").prefix_with("MATERIALIZED")
        key = rows.c[self._key.name]
        found = select(key).where(*(check(rows.c) for check in checks))
        return found.order_by(key.desc() if self._newest_first else key)


def along(
    connection: Connection,
    columns: Columns,
    stretch: Stretch,
    key: Column[int],
    span: Span,
    newest_first: bool,
) -> Select[Any]:
    """In the order of the key."""
    order = (*(column for column, _ in stretch), key)
    return within(connection, columns, stretch, key, span).order_by(
        *(column.desc() if newest_first else column for column in order)
    )


def within(
    connection: Connection, columns: Columns, stretch: Stretch, key: Column[int], span: Span
) -> Select[Any]:
    if connection.dialect.name == "sqlite":
        equal = [column == value for column, value in stretch]
        return select(*columns).where(*equal, key > span.above, key < span.below)
    # PostgreSQL may take it for cheaper to go through all keys until enough rows have the values, and then
    # goes through all there are. Rows that are compared as a whole leave it the right index only.
    row = tuple_(*(column for column, _ in stretch), key)
    values = [literal(value, column.type) for column, value in stretch]
    return select(*columns).where(
        row > tuple_(*values, literal(span.above, key.type)),
        row < tuple_(*values, literal(span.below, key.type)),
    )
