"""A database that is put back from a copy knows nothing of what came after it: none of that may be taken for
what comes next."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.errors import NotFound
from tests.real.agents.fleet import Fleet
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-5")

SECRET = shell("echo red-secret; echo red-result > out", outputs=["out"])
QUIET = shell("true", outputs=["out"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RotaServer]:
    made = RotaServer(tmp_path / "rota")
    made.start()
    yield made
    made.remove()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path / "fleet")
    yield made
    made.remove()


def copied(server: RotaServer) -> bytes:
    """As an operator does who stops the server for it."""
    server.stop()
    database = (server.data / "rota.db").read_bytes()
    server.start()
    return database


def put_back(server: RotaServer, database: bytes) -> None:
    for path in server.data.glob("rota.db*"):
        path.unlink()
    (server.data / "rota.db").write_bytes(database)


def nothing_was_left(server: RotaServer, job: str) -> None:
    assert server.output(job) == ""
    with pytest.raises(NotFound):
        server.client.output(job, "out")


@pytest.mark.parametrize("is_marked", [True, False], ids=["", "without the file that tells"])
def test_jobs_after_a_restore_show_nothing_of_those_before(server: RotaServer, is_marked: bool) -> None:
    server.run(QUIET)
    database = copied(server)
    before = server.run(SECRET).id
    assert server.output(before) == "red-secret\n"
    server.stop()
    put_back(server, database)
    if not is_marked:
        (server.data / "epoch.json").unlink()
    server.start()
    after = server.run(QUIET).id
    assert int(after) > int(before), "an id that was told to somebody is somebody else's"
    nothing_was_left(server, after)
    with pytest.raises(NotFound):
        server.client.job(before)
    again = server.run(SECRET).id
    assert server.output(again) == "red-secret\n"
    assert server.client.output(again, "out") == b"red-result\n"


def test_a_number_that_is_given_again_still_shows_nothing(server: RotaServer) -> None:
    """Whatever made that happen."""
    before = server.run(SECRET).id
    server.stop()
    with sqlite3.connect(server.data / "rota.db") as database:
        database.execute("DELETE FROM jobs")
        database.execute("UPDATE counters SET value = 0 WHERE name = 'numbers'")
    database.close()
    (server.data / "epoch.json").write_text('{"epoch": 0, "number": 0}')
    server.start()
    after = server.run(QUIET).id
    assert after == before
    nothing_was_left(server, after)


def test_what_runs_unknown_to_the_database_is_ended(server: RotaServer) -> None:
    server.run(QUIET)
    database = copied(server)
    stray = server.submit_one(shell("echo stray $$; sleep 600"))
    pid = int(server.says(stray, "\n").split()[1])
    server.kill()
    put_back(server, database)
    server.start()
    job = server.run(shell("echo mine; exit 3"))
    assert (job.phase, server.output(job.id)) == (Phase.FAILED, "mine\n")
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the stray task to be ended")


def test_a_job_that_the_copy_shows_as_waiting_runs_anew(server: RotaServer, tmp_path: Path) -> None:
    """Its first start is one that the database doesn't know of."""
    told = tmp_path / "told"
    script = f"if mkdir {told} 2>/dev/null; then echo first; sleep 600; else echo second; fi"
    job = server.submit_one(shell(script, hold=True))
    database = copied(server)
    server.client.release(job)
    server.says(job, "first")
    server.kill()
    put_back(server, database)
    server.start()
    server.client.release(job)
    assert server.over(job).phase is Phase.SUCCEEDED
    assert server.output(job).endswith("second\n")


def test_agents_never_confuse_jobs_of_one_number(fleet: Fleet) -> None:
    """The server's machine was lost with all its files, and the copy is put on another."""
    server = fleet.server
    server.stop()
    copy = fleet.server.home / "copy"
    shutil.copytree(server.data, copy)
    server.start()
    fleet.agent("a")
    stray = server.submit_one(shell("echo stray; echo red-result > out; sleep 600", outputs=["out"]))
    server.says(stray, "stray")
    server.kill()
    shutil.rmtree(server.data)
    copy.rename(server.data)
    server.start()
    fleet.until_ready("a")
    job = server.run(QUIET)
    assert (job.id, job.phase) == (stray, Phase.SUCCEEDED)
    nothing_was_left(server, job.id)
