"""The database fails under the store: told as such, nothing half kept, and well again by itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy import event as listening

from rota.model.ids import JobId
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.store import open_store
from rota.store.writing.batch import Batch
from tests.real.conftest import missing, mount_disk
from tests.real.postgres import Missing, Postgres
from tests.real.server.rota_server import eventually
from tests.stored import event, ids, job, keep


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount_disk(folder, "size=3m")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill_up(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as open_file:
        while True:
            open_file.write(b"x" * 4096)


def test_a_full_disk_is_told_and_all_goes_on_once_there_is_room(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with open_store(f"sqlite:///{small_disk}/rota.db") as store:
        keep(store, job("1"))
        fill_up(filler)
        large = Batch(jobs=[job("2", command=("x" * 500_000,))], events=[event("job.Submitted", "2")])
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="disk"):
                store.commit(large)
        assert ids(store.load().jobs) == ["1"], "reading goes on"
        filler.unlink()
        assert store.commit(large) == 1
        assert ids(store.load().jobs) == ["1", "2"]


def test_a_file_that_was_removed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "rota.db"
    with open_store(f"sqlite:///{file}") as store:
        keep(store, job("1"))
        file.rename(tmp_path / "elsewhere.db")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="gone or was replaced"):
                keep(store, job("2"))
        with pytest.raises(StoreUnavailable):
            store.load()
        (tmp_path / "elsewhere.db").rename(file)
        keep(store, job("3"))
        assert ids(store.load().jobs) == ["1", "3"]


def test_another_file_in_its_place_is_told_however_much_alike_they_are(tmp_path: Path) -> None:
    """File systems give the number of a file that is gone to the next, as soon as nobody has it open."""
    file = tmp_path / "rota.db"
    url = f"sqlite:///{file}"
    with open_store(url) as store:
        keep(store, job("1"))
        for _ in range(3):
            for each in list(tmp_path.iterdir()):
                each.unlink()
            with pytest.raises(StoreUnavailable, match="gone or was replaced"):
                store.load()
            with open_store(url) as other:
                keep(other, job("7"))
            with pytest.raises(StoreUnavailable, match="gone or was replaced"):
                keep(store, job("2"))
            with open_store(url) as other:
                assert ids(other.load().jobs) == ["7"]


def test_a_store_is_of_no_use_to_a_server_whose_folder_was_remade(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "lock").touch()
    with open_store(url, lock=folder / "lock") as store:
        keep(store, job("1"))
        folder.rename(tmp_path / "old")
        with pytest.raises(StoreUnavailable, match=r"the folder .*data is gone or was replaced: put it back"):
            keep(store, job("2"))
        folder.mkdir()
        (folder / "lock").touch()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="gone or was replaced"):
                keep(store, job("2"))
            with pytest.raises(StoreUnavailable, match="gone or was replaced"):
                store.load()
        (folder / "lock").unlink()
        folder.rmdir()
        (tmp_path / "old").rename(folder)
        keep(store, job("3"))
        assert ids(store.load().jobs) == ["1", "3"]


def test_a_folder_without_its_lock_is_refused_from_the_start(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="can't be used: No such file"):
        open_store(url, lock=tmp_path / "lock")


def test_no_descriptors_are_left_of_stores_that_were_closed(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        open_store(f"sqlite:///{tmp_path}/rota.db").close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_file_that_another_process_holds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.store.sql.database._BUSY_TIMEOUT_MS", 50)
    url = f"sqlite:///{tmp_path}/rota.db"
    with open_store(url) as store, open_store(url) as other:
        with other.connections.write(), pytest.raises(StoreUnavailable, match="another process holds"):
            keep(store, job("1"))
        keep(store, job("1"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
def test_a_server_that_is_stopped_and_started_again(
    postgres: Postgres, postgres_url: str, how: signal.Signals
) -> None:
    with open_store(postgres_url) as store:
        keep(store, job("1"))
        store.load()
        postgres.stop(how)
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="see whether it runs"):
                    store.commit(Batch(jobs=[job("2")], events=[event("job.Submitted", "2")]))
                with pytest.raises(StoreUnavailable, match="see whether it runs"):
                    store.load()
                with pytest.raises(StoreUnavailable):
                    store.numbers.allocate(1000)
        finally:
            postgres.start()
        assert store.commit(Batch(jobs=[job("2")], events=[event("job.Submitted", "2")])) == 1
        assert ids(store.load().jobs) == ["1", "2"]


class ConnectionLostAtCommit:
    """The server is told to commit, and the connection breaks before it can answer."""

    def __init__(self, reaches_server: bool) -> None:
        self.armed = True
        self._reaches_server = reaches_server

    def __call__(self, connection: Connection) -> None:
        if not self.armed:
            return
        self.armed = False
        raw = connection.connection.dbapi_connection
        assert raw is not None
        if self._reaches_server:
            raw.commit()
        raw.close()


@pytest.mark.parametrize("kept", [True, False])
def test_a_commit_that_nobody_knows_the_end_of_is_kept_once(postgres_url: str, kept: bool) -> None:
    with open_store(postgres_url) as store:
        keep(store, job("1"))
        listening.listen(store.connections.database.writer, "commit", ConnectionLostAtCommit(kept))
        batch = Batch(jobs=[job("2")], events=[event("job.Submitted", "2")])
        with pytest.raises(StoreUnavailable):
            store.commit(batch)
        assert (store.job(JobId("2")) is not None) == kept
        assert store.commit(batch) == 1
        assert len(store.events(0)) == 1
        assert ids(store.load().jobs) == ["1", "2"]


def test_going_on_after_a_commit_that_was_kept_after_all_is_refused_once(postgres_url: str) -> None:
    with open_store(postgres_url) as store:
        listening.listen(store.connections.database.writer, "commit", ConnectionLostAtCommit(True))
        with pytest.raises(StoreUnavailable):
            store.commit(Batch(jobs=[job("1")], events=[event("job.Submitted", "1")]))
        with pytest.raises(StoreDiverged, match="load the state again"):
            store.commit(Batch(events=[event("job.Held", "2")]))
        assert store.load().last_seq == 1
        assert store.commit(Batch(events=[event("job.Held", "2")])) == 2


@pytest.mark.covers("job-6")
def test_a_database_that_does_not_answer_is_left_alone_for_a_while_and_found_again() -> None:
    try:
        postgres = Postgres()
    except Missing as error:
        missing(str(error))
    try:
        with open_store(postgres.new_database()) as store:
            keep(store, job("1"))
            postgres.stop(signal.SIGQUIT)
            for _ in range(5):
                with pytest.raises(StoreUnavailable, match="see whether it runs"):
                    store.load()
            assert store.connections.is_left_alone
            with pytest.raises(StoreUnavailable, match="hasn't answered 5 times in a row"):
                store.load()
            postgres.start()
            eventually(lambda: not store.connections.is_left_alone, "its time to be over")
            assert ids(store.load().jobs) == ["1"]
            assert not store.connections.is_left_alone
    finally:
        postgres.remove()
