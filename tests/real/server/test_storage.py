"""A full disk, a database that is gone: the server says so, takes nothing it can't keep, and recovers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.errors import Unavailable
from rota.sdk.job_calls import JobForm
from tests.real.conftest import mount_disk
from tests.real.postgres import Postgres
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import RotaServer, eventually, shell

SMALL = "size=24m"


@pytest.fixture
def on_small_disk(tmp_path: Path) -> Iterator[RotaServer]:
    home = tmp_path / "disk"
    home.mkdir()
    mount_disk(home, SMALL)
    server = RotaServer(home)
    try:
        server.start()
        yield server
        server.remove()
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=True)


def is_ready(server: RotaServer) -> bool:
    return server.rest("GET", "/readyz")[0] == 200


@pytest.mark.covers("ops-3")
def test_a_full_disk_is_said_and_survived(on_small_disk: RotaServer) -> None:
    server = on_small_disk
    before = server.run(shell("echo kept"))
    ballast = server.home / "ballast"
    _fill(ballast)
    with server.impatient() as client:
        refused = eventually(lambda: _refusal(client.submit, shell("echo lost", name="lost")), "a refusal")
    assert "can't be written" in refused.message
    assert not is_ready(server)
    assert server.output(before.id) == "kept\n"
    ballast.unlink()
    eventually(lambda: is_ready(server), "the server to recover, though nobody asks it for anything")
    assert not list(server.client.jobs(name="lost"))
    [told] = server.client.events(kind="store.Recovered")
    assert str(told.data["fault"]) in refused.message
    assert server.run(shell("echo again")).phase is Phase.SUCCEEDED


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while out.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


@pytest.mark.covers("ops-3")
def test_a_database_that_is_gone_is_said_and_survived(
    new_server: NewServer, postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    server = new_server("--database", postgres_url)
    told = tmp_path / "told"
    running = server.submit_one(shell(f"while [ ! -e {told} ]; do sleep 0.02; done; echo finished"))
    server.started(running)
    postgres.stop()
    try:
        with server.impatient() as client:
            refused = eventually(lambda: _refusal(client.submit, shell("true", name="lost")), "a refusal")
        assert "at the moment" in refused.message or "can't be written" in refused.message
        eventually(lambda: not is_ready(server), "the server to notice")
        told.touch()  # It ends while its end can't be kept.
    finally:
        postgres.start()
    assert server.over(running).phase is Phase.SUCCEEDED
    eventually(lambda: is_ready(server), "the server to be ready")
    assert server.output(running) == "finished\n"
    assert len(server.client.job(running).attempts) == 1
    assert not list(server.client.jobs(name="lost"))


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_folder_that_is_remade_under_a_server_is_not_its_own(
    new_server: NewServer, database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Not even a copy: what was written since is not in it, and another server may have it."""
    flags = () if database == "sqlite" else ("--database", request.getfixturevalue("postgres_url"))
    server = new_server(*flags)
    assert server.run(shell("echo before")).phase is Phase.SUCCEEDED
    copy = tmp_path / "copy"
    shutil.copytree(server.data, copy, ignore=shutil.ignore_patterns("worker"))
    original = server.data.rename(tmp_path / "original")
    copy.rename(server.data)
    with server.impatient() as client:
        assert _refusal(client.submit, shell("true", name="lost")) is not None
    eventually(lambda: not is_ready(server), "the server to notice")
    told = "is gone or was replaced: put it back, or restart the server"
    eventually(lambda: told in server.log.read_text(), "the server to say so")
    shutil.rmtree(server.data)
    original.rename(server.data)
    eventually(lambda: is_ready(server), "the server to be ready, now that its folder is back")
    assert not list(server.client.jobs(name="lost"))
    assert server.run(shell("echo after")).phase is Phase.SUCCEEDED


def _refusal(submit: Callable[[JobForm], object], job: JobForm) -> Unavailable | None:
    try:
        submit(job)
    except Unavailable as error:
        return error
    return None
