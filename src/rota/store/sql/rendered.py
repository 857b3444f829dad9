"""Statements in the words of one database, made once.

SQLAlchemy looks at every value of every row that it is given, which takes longer than the database does for
it. What is written all the time goes to the driver as it is: plain numbers, texts and bytes, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.sql import ClauseElement

Row = Mapping[str, Any]


class Rendered:
    def __init__(self, statement: ClauseElement, dialect: str) -> None:
        self.sql = str(statement.compile(dialect=_by_name(dialect)))

    def one(self, connection: Connection, row: Row) -> CursorResult[Any]:
        return connection.exec_driver_sql(self.sql, row)

    def many(self, connection: Connection, rows: Sequence[Row]) -> None:
        if rows:
            connection.exec_driver_sql(self.sql, rows)


def _by_name(dialect: str) -> Dialect:
    """One in which values are given by name."""
    if dialect == "sqlite":
        return sqlite.dialect(paramstyle="named")
    return psycopg.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]
