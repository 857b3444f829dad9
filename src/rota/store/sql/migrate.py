"""Brings a database to the schema that this Rota knows; refuses one that isn't Rota's, or is newer."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select, text

from rota.store.errors import StoreRefused

VERSION_TABLE = "rota_schema"
_FOLDER = Path(__file__).parent / "migrations"
_MIGRATING = 0x726F7461
"""The number of the lock; any would do that nobody else uses."""


def migrate(connection: Connection, target: str = "head") -> None:
    """Within the connection's transaction: a migration that fails has changed nothing."""
    if connection.dialect.name == "postgresql":
        _refuse_other_encodings(connection)
        # Of several servers that start at once, one migrates and the others wait.
        connection.execute(select(func.pg_advisory_xact_lock(_MIGRATING)))
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, version_table=VERSION_TABLE)
    scripts = ScriptDirectory.from_config(config)
    if schema_of(connection) == scripts.get_current_head():
        return
    _check(connection, scripts)
    command.upgrade(config, target)


def check_schema(connection: Connection) -> None:
    """Whether this Rota could use the database. StoreRefused: it couldn't. Nothing is changed."""
    if connection.dialect.name == "postgresql":
        _refuse_other_encodings(connection)
    _check(connection, ScriptDirectory(str(_FOLDER)))


def _check(connection: Connection, scripts: ScriptDirectory) -> None:
    schema = schema_of(connection)
    if schema is None:
        _refuse_foreign(connection)
    elif schema not in {script.revision for script in scripts.walk_revisions()}:
        raise StoreRefused(
            f"the database is of a newer Rota (its schema is {schema}, this one knows up to "
            f"{scripts.get_current_head()}): start the newer Rota, or give another database"
        )


def schema_of(connection: Connection) -> str | None:
    """None: there is none yet."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _refuse_other_encodings(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise StoreRefused(
            f"the database has the encoding {encoding}, which can't hold all text: "
            "create one with ENCODING 'UTF8' TEMPLATE template0"
        )


def _refuse_foreign(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    if tables:
        raise StoreRefused(
            f"the database holds tables that aren't Rota's ({', '.join(sorted(tables)[:3])}): "
            "give Rota a database of its own"
        )
