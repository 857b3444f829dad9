"""Opening: what is refused, and why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import pytest
from sqlalchemy import create_engine, text

from rota.model.ids import JobId
from rota.store.errors import StoreCorrupt, StoreRefused, StoreUnavailable
from rota.store.sql.migrate import VERSION_TABLE
from rota.store.store import open_store
from tests.real.conftest import mount_disk
from tests.real.postgres import Postgres
from tests.stored import job, keep

pytestmark = pytest.mark.covers("ops-3")


def execute(url: str, *statements: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def test_a_store_is_there_again_when_opened_again(url: str) -> None:
    with open_store(url) as store:
        keep(store, job("1"))
    with open_store(url) as store:
        assert store.job(JobId("1")) == job("1")


def test_what_a_killed_server_left_is_on_disk_before_it_is_believed(tmp_path: Path) -> None:
    """What it wrote and didn't sync would be told of, and then be gone with the power."""
    killed, found, synced = (tmp_path / name for name in ("killed.db", "found.db", "synced.db"))
    with open_store(f"sqlite:///{killed}") as store:
        keep(store, job("1"))
        for suffix in ("", "-wal"):
            copyfile(f"{killed}{suffix}", f"{found}{suffix}")
    with open_store(f"sqlite:///{found}"):
        copyfile(found, synced)
    with open_store(f"sqlite:///{synced}") as store:
        assert store.job(JobId("1")) == job("1")


def test_a_newer_schema_is_refused_and_left_alone(url: str) -> None:
    open_store(url).close()
    execute(url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreRefused, match=r"newer Rota \(its schema is 9999, this one knows up to 0003\)"):
        open_store(url)
    with pytest.raises(StoreRefused, match="9999"):
        open_store(url)


def test_an_encoding_that_cant_hold_all_text_is_refused(postgres: Postgres) -> None:
    with pytest.raises(StoreRefused, match=r"encoding SQL_ASCII.*ENCODING 'UTF8'"):
        open_store(postgres.new_database("SQL_ASCII"))


def test_a_database_of_something_else_is_refused_and_left_alone(url: str) -> None:
    execute(url, "CREATE TABLE cats (name TEXT)")
    with pytest.raises(StoreRefused, match=r"aren't Rota's \(cats\).*of its own"):
        open_store(url)
    execute(url, "DROP TABLE cats")
    open_store(url).close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear all, " * 1000)
    with pytest.raises(StoreCorrupt, match="damaged, or is none"):
        open_store(f"sqlite:///{file}")
    assert file.read_text() == "Dear all, " * 1000


def test_folders_are_made_and_others_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "rota?#%.db"
    with open_store(f"sqlite:///{str(file).replace('%', '%25').replace('?', '%3f')}") as store:
        keep(store, job("1"))
        made = sorted(file.parent.parent.rglob("*.db*"))
        assert made
        assert {path.stat().st_mode & 0o777 for path in made} == {0o600}


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    """Nobody may write there: by its mode, or for root, who may all the same, by a mount."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.geteuid() != 0:
        yield folder
        return
    mount_disk(folder, "ro")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_folder_that_cannot_be_written_is_refused(locked_folder: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"can't be written: .*; give a file in a folder"):
        open_store(f"sqlite:///{locked_folder}/rota.db")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="can't be written: File exists"):
        open_store(f"sqlite:///{tmp_path}/file/rota.db")


@pytest.mark.parametrize(
    "url, problem",
    [
        ("", "not a URL of a database"),
        ("rota.db", "not a URL of a database"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("mysql://localhost/rota", "database of mysql"),
    ],
)
def test_other_urls_are_refused(url: str, problem: str) -> None:
    with pytest.raises(StoreRefused, match=f"{problem}.*give sqlite:///PATH or postgresql://"):
        open_store(url)


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="can't be reached"):
        open_store(f"postgresql://rota@/rota?host={tmp_path}")
