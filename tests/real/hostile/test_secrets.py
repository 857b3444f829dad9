"""What is secret stands in no event, log, view or file; jobs get it, and nobody else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.api.people import Role
from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from rota.sdk.errors import BadInput, Conflict, Forbidden, NotFound
from tests.real.process.host import keeper_of
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-3", "ops-2")

SECRET = "correct-horse-battery-staple"
PLAIN = "in-plain-sight-of-its-owner"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    server = RotaServer(tmp_path_factory.mktemp("rota"))
    server.start()
    yield server
    server.remove()


def as_user(server: RotaServer, user: str, role: Role, project: str) -> Client:
    return server.impatient(server.client.add_token(user, role, projects=[project]).secret)


def files_with(server: RotaServer, secret: str) -> list[Path]:
    """Of all that the server and its keeper wrote."""
    files = (path for path in server.home.rglob("*") if path.is_file())
    return [path for path in files if secret.encode() in path.read_bytes()]


def found_keeper(server: RotaServer) -> int | None:
    try:
        return keeper_of(server.data / "worker")
    except OSError:
        return None


def test_the_environment_is_for_its_owner_alone(server: RotaServer) -> None:
    server.client.set_project("vision", members={})
    with (
        as_user(server, "ada", Role.SUBMITTER, "vision") as ada,
        as_user(server, "eve", Role.VIEWER, "vision") as eve,
    ):
        [job] = ada.submit(shell("true", environment={"API_KEY": PLAIN}, project="vision")).jobs
        array = ada.submit(shell("true", environment={"API_KEY": PLAIN}, project="vision", array="0-2")).jobs
        server.over(job.id)
        assert ada.job(job.id).spec["environment"] == {"API_KEY": PLAIN}
        for other in (eve, server.client):
            assert "environment" not in other.job(job.id).spec
            told = [event for one in (job, *array) for event in other.events(subject=one.id)]
            assert len(told) >= 4
            assert PLAIN not in repr(told)


def test_a_job_gets_a_secret_by_name_and_its_log_is_masked(server: RotaServer) -> None:
    server.client.set_secret("default", "api-key", SECRET)
    job = server.run(
        shell(
            'printf "%s" "$KEY" | wc -c; echo "key=$KEY" >&2\n'
            'printf "%.10s" "$KEY"; sleep 0.2; echo "${KEY#??????????}"',
            secrets={"KEY": "api-key"},
        )
    )
    assert job.phase is Phase.SUCCEEDED
    assert sorted(server.output(job.id).split()) == ["***", str(len(SECRET)), "key=***"]
    assert server.client.job(job.id).spec["secrets"] == {"KEY": "api-key"}
    assert files_with(server, SECRET) == []
    [listed] = server.client.secrets("default")
    assert (listed.name, SECRET in repr(listed)) == ("api-key", False)
    assert SECRET not in repr(list(server.client.events()))


def test_it_is_masked_after_the_keeper_was_killed(server: RotaServer, tmp_path: Path) -> None:
    server.client.set_secret("default", "api-key", SECRET)
    go_on = tmp_path / "go-on"
    script = f'echo begun; while [ ! -e {go_on} ]; do sleep 0.05; done; echo "key=$KEY"; echo end'
    [job] = server.client.submit(shell(script, secrets={"KEY": "api-key"})).jobs
    eventually(lambda: "begun" in server.output(job.id), "the job to begin")
    os.kill(keeper_of(server.data / "worker"), signal.SIGKILL)
    eventually(lambda: found_keeper(server), "another keeper")
    go_on.touch()
    server.over(job.id)
    assert server.output(job.id) == "begun\nkey=***\nend\n"
    assert files_with(server, SECRET) == []


def test_what_isnt_there_is_told_when_it_is_submitted(server: RotaServer) -> None:
    with pytest.raises(BadInput, match="no secret nothing") as refused:
        server.client.submit(shell("true", secrets={"KEY": "nothing"}))
    assert refused.value.field == "jobs[0].secrets.KEY"
    server.client.set_secret("default", "short-lived", SECRET)
    [held] = server.client.submit(shell("true", secrets={"KEY": "short-lived"}, hold=True)).jobs
    server.client.remove_secret("default", "short-lived")
    server.client.release(held.id)
    job = server.over(held.id)
    assert job.phase is Phase.FAILED
    assert "no secret short-lived" in job.message


def test_secrets_are_their_projects(server: RotaServer) -> None:
    for project in ("vision", "sound"):
        server.client.set_project(project, members={})
    server.client.set_secret("sound", "api-key", SECRET)
    with as_user(server, "ada", Role.SUBMITTER, "vision") as ada:
        with pytest.raises(NotFound):
            list(ada.secrets("sound"))
        with pytest.raises(Forbidden):
            ada.set_secret("vision", "api-key", "mine")
        with pytest.raises(BadInput, match="no secret api-key"):
            ada.submit(shell("true", secrets={"KEY": "api-key"}, project="vision"))
    with as_user(server, "bob", Role.PROJECT_ADMIN, "vision") as bob:
        with pytest.raises(NotFound):
            bob.set_secret("sound", "api-key", "mine")
        bob.set_secret("vision", "api-key", "mine-all-mine")


def test_operators_name_files_and_variables(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(f"{SECRET}\n")
    sources = [f"default/from-file=file:{key}", "default/from-env=env:MINE", "default/gone=file:/no/file"]
    server = RotaServer(
        tmp_path / "rota", environment={"ROTA_SECRETS_SOURCES": ",".join(sources), "MINE": "open-sesame"}
    )
    server.start()
    try:
        job = server.run(shell('echo "${#A} ${#B} $A $B"', secrets={"A": "from-file", "B": "from-env"}))
        assert server.output(job.id) == f"{len(SECRET)} {len('open-sesame')} *** ***\n"
        gone = server.run(shell("true", secrets={"A": "gone"}))
        assert (gone.phase, "/no/file" in gone.message) == (Phase.FAILED, False)
        with pytest.raises(Conflict):
            server.client.set_secret("default", "from-env", "other")
    finally:
        server.remove()
