"""Commands that run where one stands, with the environment that one has, on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import json

from rota.model.node import MACHINE
from tests.real.server.rota_server import RotaServer, rota_in

pytestmark = pytest.mark.covers("first-1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "t.sh").write_text('#!/bin/sh\necho "script in $(pwd) with $FOO and $*"\n')
    (folder / "t.sh").chmod(0o755)
    return folder


def test_a_command_finds_its_folder_and_its_environment(server: RotaServer, project: Path) -> None:
    done = rota_in(project, server, "run", "--", "./t.sh", "x", FOO="bar", ROTA_TRACEBACK="1")
    assert (done.returncode, done.stdout) == (0, f"script in {project} with bar and x\n"), done.stderr
    shown = rota_in(project, server, "run", "--", "env", FOO="bar", ROTA_TOKEN=server.token)
    assert "FOO=bar\n" in shown.stdout
    assert server.token not in shown.stdout
    assert "ROTA_TOKEN" not in shown.stdout


def test_clean_is_empty_and_bare(server: RotaServer, project: Path) -> None:
    done = rota_in(project, server, "run", "--clean", "--", "sh", "-c", "ls -A; echo [$FOO]", FOO="bar")
    assert done.stdout == "[]\n", done.stderr


def test_scripts_and_their_arguments(server: RotaServer, project: Path) -> None:
    job = rota_in(project, server, "submit", "-o", "name", "t.sh", "a", "b", FOO="bar").stdout.strip()
    assert rota_in(project, server, "wait", job).returncode == 0
    assert server.cli("logs", job) == f"script in {project} with bar and a b\n"


def test_a_folder_that_no_node_has_is_refused_at_once(server: RotaServer, project: Path) -> None:
    job = {"command": ["true"], "directory": str(project), "node_selector": {MACHINE: "0123456789abcdef"}}
    status, answer, _ = server.rest("POST", "/v1/jobs", {"jobs": [job]})
    assert status == 422
    told = json.encode(answer).decode()
    assert "doesn't have the folder that the job was submitted from" in told
    for option in ("--dir", "--file", "--clean"):
        assert option in told


def test_a_folder_that_is_gone_says_so(server: RotaServer, project: Path) -> None:
    done = rota_in(project, server, "run", "--dir", "/no/such/folder", "--", "true")
    assert done.returncode == 125
    assert "/no/such/folder: No such file or directory; name another one with --dir" in done.stderr


def test_its_environment_is_for_its_owner_and_in_no_event(server: RotaServer, project: Path) -> None:
    server.cli("project", "set", "open", "--member", "ada=submitter", "--member", "bob=submitter")
    tokens = {
        user: server.cli("token", "add", user, "--role", "submitter", "--project", "open").strip()
        for user in ("ada", "bob")
    }

    def as_user(user: str, *words: str, **environment: str) -> str:
        asked = {"ROTA_TOKEN": tokens[user], "ROTA_URL": server.url, **environment}
        done = rota_in(project, server, *words, **asked)
        assert done.returncode == 0, done.stderr
        return done.stdout

    hers = as_user("ada", "submit", "--project", "open", "-o", "name", "--", "true", API_KEY="s3cr3t").strip()
    as_user("bob", "wait", hers)
    assert "s3cr3t" in as_user("ada", "show", hers, "-o", "json")
    assert "s3cr3t" not in server.cli("show", hers, "-o", "json")
    for words in (("show", hers, "-o", "json"), ("ls", "--all", "-o", "json")):
        assert "s3cr3t" not in as_user("bob", *words)
    assert "s3cr3t" not in server.cli("events", "--subject", hers, "-o", "json")
    assert "s3cr3t" not in server.cli("audit", "-o", "json")


SBATCH = """#!/bin/sh
#SBATCH --output=logs/%A-%a.out
#SBATCH --array=2-3
echo "$SLURM_SUBMIT_DIR $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_COUNT $SLURM_CPUS_ON_NODE"
echo bad >&2
"""


def test_a_script_of_slurm_finds_what_it_knows(server: RotaServer, project: Path) -> None:
    (project / "array.sh").write_text(SBATCH)
    array = rota_in(project, server, "submit", "-o", "name", "array.sh").stdout.strip()
    assert rota_in(project, server, "wait", array).returncode == 0
    ids = set()
    for index in (2, 3):
        said, error = (project / "logs" / f"{array}-{index}.out").read_text().splitlines()
        folder, id, common, count, cpus = said.split()
        assert (folder, common, count, cpus, error) == (str(project), array, "2", "1", "bad")
        ids.add(id)
        told = f"rota: its output is in {project}/logs/{array}-{index}.out\n"
        assert server.cli("logs", f"{array}.{index}") == told
    assert len(ids) == 2
    assert "array.sh" in server.cli("show", f"{array}.2")


def test_questions_about_jobs_that_are_over_or_wait(server: RotaServer, project: Path) -> None:
    failed = rota_in(project, server, "submit", "-o", "name", "--", "sh", "-c", "exit 3").stdout.strip()
    assert rota_in(project, server, "wait", failed).returncode == 3
    for words in (("why", failed), ("extend", failed, "1h")):
        done = server.rota(*words)
        assert done.returncode == 2
        assert f"job {failed} is over: failed: exit 3; `rota show {failed}` shows its tasks" in done.stderr
    first = server.cli("submit", "--hold", "--name", "first", "-o", "name", "--", "true").strip()
    second = server.cli("submit", "--after", first, "-o", "name", "--", "true").strip()
    assert f"job {second} waits for {first} to end" in server.rota("why", second).stderr
    server.cli("cancel", first)
