"""A copy of a server that goes on working, put back elsewhere."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from msgspec import json

from rota.api.people import Role
from rota.lifecycle.state import Phase
from tests.real.postgres import Postgres
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import RotaServer, shell


def submitting(server: RotaServer, enough: Event) -> list[str]:
    """Until it is told that that is enough: jobs whose submission was answered."""
    answered: list[str] = []
    while not enough.is_set():
        answered += server.submit(shell("true", hold=True), shell("echo done"))
    return answered


def put_back(new_server: NewServer, copy: Path, database: str | None) -> RotaServer:
    """A server elsewhere, on what was restored."""
    words = [] if database is None else ["--database", database]
    elsewhere = RotaServer(copy.parent / "elsewhere")
    elsewhere.home.mkdir()
    elsewhere.cli("restore", str(copy), *words)
    return new_server(*words, name="elsewhere")


@pytest.mark.covers("ops-4")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_that_is_made_under_load_has_all_that_was_answered_before(
    request: pytest.FixtureRequest, new_server: NewServer, tmp_path: Path, kind: str
) -> None:
    postgres: Postgres | None = request.getfixturevalue("postgres") if kind == "postgresql" else None
    words = [] if postgres is None else ["--database", postgres.new_database()]
    server = new_server(*words)
    server.client.set_project("vision", members={"ada": Role.SUBMITTER})
    server.client.set_secret("vision", "key", "swordfish")
    token = server.client.add_token("ada", Role.SUBMITTER, projects=["vision"]).secret
    first = server.run(shell("echo first", name="first"))
    before = [job for _ in range(20) for job in server.submit(shell("true", hold=True))]
    enough, copy = Event(), tmp_path / "copy"
    with ThreadPoolExecutor(2) as pool:
        load = [pool.submit(submitting, server, enough) for _ in range(2)]
        try:
            server.cli("backup", str(copy), "--with-secrets", "--with-files", *words)
        finally:
            enough.set()
        during = [job for one in load for job in one.result()]
    after = server.submit_one(shell("true", hold=True))
    server.stop()

    again = put_back(new_server, copy, None if postgres is None else postgres.new_database())
    there = {job.id for job in again.client.jobs()}
    assert {first.id, *before} <= there
    assert after not in there
    assert there - {first.id, *before} <= set(during)
    assert again.output(first.id) == "first\n"
    with again.impatient(token) as ada:
        assert (ada.me().user, ada.me().projects) == ("ada", ["vision"])
    assert [one.name for one in again.client.secrets("vision")] == ["key"]
    shown = again.run(shell('echo "$KEY"', project="vision", secrets={"KEY": "key"}))
    assert (shown.phase, again.output(shown.id)) == (Phase.SUCCEEDED, "***\n")
    assert int(shown.id) not in {int(job) for job in (*before, first.id)}
    again.client.release(before[0])
    assert again.over(before[0]).phase is Phase.SUCCEEDED


def test_a_copy_is_nobody_elses_business(new_server: NewServer, tmp_path: Path) -> None:
    server = new_server()
    server.client.set_project("vision")
    server.client.set_secret("vision", "key", "swordfish")
    settings = server.home / "config" / "rota" / "rota.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[client]\nurl = "https://ada:hunter2@rota.example.org"\n')
    copy = tmp_path / "copy"
    server.cli("backup", str(copy))
    modes = {
        path: stat.S_IMODE(path.stat().st_mode) for path in (copy, *copy.rglob("*")) if not path.is_symlink()
    }
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert not (copy / "secrets.key").exists()
    assert not (copy / "token").exists()
    [kept] = (copy / "settings").iterdir()
    assert "https://ada:***@rota.example.org" in kept.read_text()
    assert all(b"hunter2" not in path.read_bytes() for path in modes if path.is_file())


def test_nothing_is_overwritten_unasked(new_server: NewServer, tmp_path: Path) -> None:
    server = new_server()
    kept = server.submit_one(shell("true", hold=True))
    copy = tmp_path / "copy"
    server.cli("backup", str(copy))
    later = server.submit_one(shell("true", hold=True))
    assert "isn't empty" in server.rota("backup", str(copy)).stderr
    refused = server.rota("restore", str(copy))
    assert (refused.returncode, "isn't empty" in refused.stderr) == (1, True)
    refused = server.rota("restore", str(copy), "--force")
    assert (refused.returncode, "another server uses" in refused.stderr) == (1, True)
    server.stop()
    epoch = json.decode((server.data / "epoch.json").read_bytes())["epoch"]
    server.cli("restore", str(copy), "--force")
    assert json.decode((server.data / "epoch.json").read_bytes())["epoch"] > epoch
    [aside] = server.data.glob("before-restore-*")
    assert (aside / "rota.db").exists()
    server.start()
    assert [job.id for job in server.client.jobs()] == [kept]
    # A number that was given out after the copy is never somebody else's.
    assert int(server.submit_one(shell("true", hold=True))) > int(later)


def test_a_copy_that_isnt_whole_is_refused(new_server: NewServer, tmp_path: Path) -> None:
    server = new_server()
    copy = tmp_path / "copy"
    server.cli("backup", str(copy))
    server.stop()
    database = copy / "rota.db"
    database.write_bytes(database.read_bytes()[:-1] + b"?")
    said = server.rota("restore", str(copy), "--data", str(tmp_path / "new"))
    assert (said.returncode, "the copy is damaged" in said.stderr) == (1, True)
    (copy / "manifest.json").unlink()
    said = server.rota("restore", str(copy), "--data", str(tmp_path / "new"))
    assert (said.returncode, "holds no whole copy" in said.stderr) == (1, True)
    assert not (tmp_path / "new").exists()
