"""Statements that go to the driver as they are: in the words of the database, with values by name."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, insert, select

from rota.store.sql.rendered import Rendered
from rota.store.sql.tables import counters, metadata


@pytest.fixture(params=["sqlite", "postgresql"])
def sql(request: pytest.FixtureRequest) -> str:
    return Rendered(insert(counters), request.param).sql


def test_values_are_given_by_name(sql: str) -> None:
    assert sql.startswith("INSERT INTO counters (name, value) VALUES (")
    assert "name)s" in sql or ":name" in sql


def test_rows_are_written_and_none_are_too() -> None:
    adding = Rendered(insert(counters), "sqlite")
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        metadata.create_all(connection)
        adding.many(connection, [{"name": "a", "value": 1}, {"name": "b", "value": 2}])
        adding.many(connection, [])
        adding.one(connection, {"name": "c", "value": 3})
        assert connection.execute(select(counters)).all() == [("a", 1), ("b", 2), ("c", 3)]
    engine.dispose()
