"""Every schema there ever was can be brought up to the latest, with what was in it.

`tests/data/store/NNNN.sql` is a database of each as SQLite dumps it, with one thing of every kind inside.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import MetaData, insert, text

from rota.lifecycle.state import Phase
from rota.model.ids import JobId
from rota.store.sql.database import connect
from rota.store.sql.migrate import VERSION_TABLE, migrate, schema_of
from rota.store.sql.tables import metadata
from rota.store.store import open_store

DUMPS = sorted((Path(__file__).parents[2] / "data" / "store").glob("*.sql"))
SCHEMAS = [dump.stem for dump in DUMPS]


def restored(dump: Path, folder: Path) -> Path:
    file = folder / f"{dump.stem}.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(dump.read_text())
    return file


def schema_text(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
        return [" ".join(sql.split()) for (sql,) in rows]


def put_into(url: str, file: Path, schema: str) -> None:
    """The same in another database: its tables as of that schema, its rows from the file."""
    with closing(sqlite3.connect(file)) as source:
        source.row_factory = sqlite3.Row
        database = connect(url, 1)
        with database.writer.begin() as connection:
            migrate(connection, schema)
            tables = MetaData()
            tables.reflect(connection)
            for table in tables.sorted_tables:
                rows = [dict(row) for row in source.execute(f'SELECT * FROM "{table.name}"')]
                if rows and table.name != VERSION_TABLE:
                    connection.execute(insert(table), rows)
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT setval('specs_id_seq', (SELECT max(id) FROM specs))"))
        database.disconnect()


def test_the_tables_are_as_the_migrations_make_them(url: str) -> None:
    database = connect(url, 1)
    with database.writer.begin() as connection:
        migrate(connection)
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    database.disconnect()


def test_every_schema_has_a_dump(url: str) -> None:
    open_store(url).close()
    database = connect(url, 1)
    with database.readers.begin() as connection:
        assert schema_of(connection) == SCHEMAS[-1]
    database.disconnect()


@pytest.mark.parametrize("dump", DUMPS, ids=SCHEMAS)
def test_a_migration_is_never_edited(dump: Path, tmp_path: Path) -> None:
    file = tmp_path / "made.db"
    database = connect(f"sqlite:///{file}", 1)
    with database.writer.begin() as connection:
        migrate(connection, dump.stem)
    database.disconnect()
    assert schema_text(file) == schema_text(restored(dump, tmp_path))


@pytest.mark.parametrize("dump", DUMPS, ids=SCHEMAS)
def test_what_was_kept_is_there_after_the_migrations(dump: Path, url: str, tmp_path: Path) -> None:
    put_into(url, restored(dump, tmp_path), dump.stem)
    with open_store(url) as store:
        loaded = store.load()
        assert [state.id for state in loaded.jobs] == ["3.0", "3.1"]
        assert loaded.unreadable == []
        assert [(one.job, one.fence) for one in loaded.attempts] == [("3.0", 1)]
        assert [one.name for one in loaded.node_settings] == ["n1"]
        assert [one.name for one in loaded.queues] == ["batch"]
        assert [one.name for one in loaded.maintenance] == ["move"]
        assert [one.name for one in loaded.reservations] == ["demo"]
        assert [one.name for one in loaded.projects] == ["vision"]
        assert [one.user for one in loaded.tokens] == ["ada"]
        assert [one.path for one in loaded.usage] == ["vision"]
        assert loaded.learnt == b"learnt"
        assert loaded.last_seq == 2
        ended, attempts = store.job_with_attempts(JobId("1")) or (None, [])
        assert ended is not None
        assert ended.spec.run.command == ("make", "all")
        assert len(attempts) == 1
        assert len(store.estimates(JobId("1"))) == 1
        assert store.answer("ada", "k1") is not None
        assert [one.seq for one in store.events(0)] == [1, 2]
        assert store.numbers.allocate(1) == 5
        if dump.stem >= "0002":
            assert [one.id for one in loaded.join_tokens] == ["j1"]
            assert [(one.name, one.revoked_by) for one in loaded.agents] == [("gpu-0", "bob")]
            assert store.authority(lambda: b"another") == b"an authority"
        if dump.stem >= "0003":
            assert [one.record.user for one in store.audit().records] == ["ada"]
            assert store.check_audit().broken is None
        counts = store.counts()
        assert {phase: counts[phase] for phase in counts if counts[phase]} == {
            Phase.PENDING: 1,
            Phase.RUNNING: 1,
            Phase.SUCCEEDED: 1,
        }
