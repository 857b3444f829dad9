"""A database that an earlier Rota wrote, opened by this one."""

from __future__ import annotations

import gzip
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from tests.real.server.rota_server import RotaServer, shell

OLD = Path(__file__).parents[2] / "data" / "store" / "rota-0.4.0.sql.gz"
TOKEN = "rota_BF0WotFThP38VMmD1phk-HmylvFsjP92De59LwCo12I"
"""Of root, an admin, in that database alone."""
ADA = "rota_v3PwVirlxytlUPvAv2_3U9Rm5OYI24oTaeKI6v2m7h4"
KEEP_ALL = {
    "ROTA_SERVER_HISTORY_TTL": "36500d",
    "ROTA_SERVER_HISTORY_EVENTS": "0s",
    "ROTA_WORKER_NAME": "old-1",
}


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[RotaServer]:
    server = RotaServer(tmp_path / "rota", environment=KEEP_ALL)
    server.data.mkdir(parents=True)
    with closing(sqlite3.connect(server.data / "rota.db")) as database:
        database.executescript(gzip.decompress(OLD.read_bytes()).decode())
    os.close(os.open(server.data / "token", os.O_WRONLY | os.O_CREAT, 0o600))
    (server.data / "token").write_text(f"{TOKEN}\n")
    server.start()
    yield server
    server.remove()


@pytest.mark.covers("ops-4")
def test_a_database_of_0_4_0_is_upgraded_with_all_that_is_in_it(upgraded: RotaServer) -> None:
    server = upgraded
    jobs = {job.id: job for job in server.client.jobs()}
    assert {"1", "2", "3.0", "3.1", "3.2", "6", "7", "8", "9", "15", "17", "18"} <= set(jobs)
    assert [jobs[one].phase for one in ("1", "2", "3.1", "6", "9")] == [
        Phase.SUCCEEDED,
        Phase.FAILED,
        Phase.SUCCEEDED,
        Phase.CANCELLED,
        Phase.CREATED,
    ]
    detail = server.client.job("2")
    assert (detail.job.name, [attempt.exit_code for attempt in detail.attempts]) == ("fails", [7])
    assert any(event.kind == "job.Submitted" for event in server.client.events(subject="1"))
    assert "hello from 0.4.0" in server.cli("show", "1")
    with server.impatient(ADA) as ada:
        assert (ada.me().user, ada.me().projects) == ("ada", ["vision"])
        assert {job.id for job in ada.jobs()} == {"9", "18"}
    assert [one.name for one in server.client.projects()] == ["vision"]


def test_what_waited_then_runs_now_and_so_does_what_is_new(upgraded: RotaServer) -> None:
    server = upgraded
    if any(one.name == "upgrade" for one in server.client.maintenance()):
        server.client.remove_maintenance("upgrade")
    assert server.over("10").phase is Phase.SUCCEEDED
    assert server.output("10") == "hello from 0.4.0\n"
    server.client.release("15")
    assert server.over("15").phase is Phase.SUCCEEDED
    new = server.run(shell("echo new"))
    assert (new.phase, server.output(new.id)) == (Phase.SUCCEEDED, "new\n")
    assert int(new.id) > 18
    server.stop()
    server.start()
    assert server.client.job("1").job.phase is Phase.SUCCEEDED
