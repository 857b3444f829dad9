"""What people type, against a server that really does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import json

from rota.lifecycle.state import Phase
from tests.real.server.rota_server import RotaServer, shell

SBATCH = """#!/bin/bash
#SBATCH --job-name=from-slurm
#SBATCH --ntasks=1
#SBATCH --time=00:01:00
#SBATCH --array=0-1
#SBATCH --wrong-flag=1
echo "$SLURM_JOB_NAME $SLURM_ARRAY_TASK_ID"
"""


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("sleep 60", 124)],
    ids=["0", "7", "SIGKILL", "time limit"],
)
def test_run_exits_as_its_command_does(server: RotaServer, script: str, status: int) -> None:
    done = server.rota(
        "run", "--time", "1s" if status == 124 else "1m", "--", "sh", "-c", f"echo a; echo b >&2; {script}"
    )
    assert (done.returncode, done.stdout) == (status, "a\n")
    assert "b\n" in done.stderr


def test_run_takes_files_and_variables_along(server: RotaServer, tmp_path: Path) -> None:
    file = tmp_path / "data.txt"
    file.write_text("content\n")
    printed = server.cli(
        "run", "--file", f"{file}:in/data", "--env", "NAME=value", "--", "sh", "-c", "cat in/data; echo $NAME"
    )
    assert printed == "content\nvalue\n"


def test_an_sbatch_script_is_taken_as_it_is(server: RotaServer, tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SBATCH)
    done = server.rota("submit", str(file), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert "--wrong-flag" in done.stderr
    jobs = json.decode(done.stdout)["jobs"]
    assert [job["name"] for job in jobs] == ["from-slurm"] * 2
    for index, job in enumerate(jobs):
        assert server.over(job["id"]).phase is Phase.SUCCEEDED
        assert server.cli("logs", job["id"]) == f"from-slurm {index}\n"


def test_a_file_of_jobs_is_planned_and_submitted(server: RotaServer, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(
        "jobs:\n"
        "  - {name: first, command: [echo, one], time_limit: 1m}\n"
        "  - {name: second, command: [echo, two], depends_on: [first], time_limit: 1m}\n"
    )
    assert "waits for first to end" in server.cli("plan", str(file), status=2)
    [first, second] = server.cli("submit", str(file), "-o", "name").split()
    assert server.over(second).phase is Phase.SUCCEEDED
    assert server.cli("logs", second) == "two\n"
    shown = server.cli("show", first)
    assert "first" in shown
    assert "succeeded" in shown
    assert json.decode(server.cli("show", first, "-o", "json"))["job"]["id"] == first
    assert "CPU" in server.cli("eff", first).upper()


def test_a_job_is_watched_held_explained_extended_and_cancelled(server: RotaServer) -> None:
    running = server.submit_one(shell("sleep 60", name="runs", resources={"cpu": server.cpus}))
    server.started(running)
    waiting = server.cli(
        "submit", "--name", "waits", "--cpus", "1", "--time", "1m", "-o", "name", "--", "true"
    ).strip()
    assert "insufficient cpu" in server.cli("why", waiting)
    assert waiting in server.cli("eta", waiting)
    assert "runs" in server.cli("watch")
    assert "waits" in server.cli("ls")
    assert server.node in server.cli("top", "--once")
    server.cli("hold", waiting)
    assert "held" in server.cli("show", waiting)
    server.cli("release", waiting)
    assert "insufficient cpu" in server.cli("plan", "--cpus", "1", "--", "true", status=2)
    server.cli("extend", running, "+1m")
    assert server.client.job(running).job.time_limit_s == 120
    server.cli("cancel", running, "-m", "enough")
    assert server.over(running).message == "enough"
    assert server.over(waiting).phase is Phase.SUCCEEDED
    assert "is over" in server.rota("cancel", running).stderr
    events = server.cli("events", "--subject", waiting, "-o", "json").splitlines()
    kinds = [json.decode(line)["kind"] for line in events]
    assert kinds[:3] == ["job.Submitted", "job.Held", "job.Released"]


def test_operators_have_nodes_queues_and_the_calendar(server: RotaServer) -> None:
    node = server.node
    assert node in server.cli("nodes")
    server.cli("nodes", "cordon", node, "-m", "dust")
    assert "dust" in server.cli("nodes")
    server.cli("nodes", "uncordon", node)
    server.cli("nodes", "taint", node, "a=b:PreferNoSchedule")
    assert server.client.node(node).taints == ["a=b:PreferNoSchedule"]
    server.cli("nodes", "taint", node, "a-")
    server.cli("queues", "pause", "side", "-m", "later")
    assert "later" in server.cli("queues")
    server.cli("queues", "open", "side")
    period = ("--start", "2040-01-01T00:00:00Z", "--for", "1h")
    server.cli("maintenance", "add", "cables", *period)
    assert "cables" in server.cli("maintenance")
    server.cli("maintenance", "rm", "cables")
    server.cli("reserve", "add", "exam", *period, "--node", node, "--tenant", "red")
    assert "exam" in server.cli("reserve")
    server.cli("reserve", "rm", "exam")
    assert not list(server.client.maintenance())
    assert not list(server.client.reservations())


@pytest.mark.covers("ops-2")
def test_admins_have_projects_and_tokens(server: RotaServer) -> None:
    server.cli("project", "set", "red", "--description", "the red ones", "--member", "carla=submitter")
    assert "the red ones" in server.cli("project")
    secret = server.cli("token", "add", "carla", "--role", "submitter", "--project", "red").strip()
    environment = {"ROTA_TOKEN": secret, "ROTA_URL": server.url}
    done = server.rota("run", "--project", "red", "--", "echo", "hers", environment=environment)
    assert (done.returncode, done.stdout) == (0, "hers\n")
    assert server.rota("queues", "pause", "side", environment=environment).returncode == 4
    [token] = [token for token in server.client.tokens() if token.user == "carla"]
    assert token.projects == ["red"]
    server.cli("token", "rm", token.id)
    assert server.rota("ls", environment=environment).returncode == 4
    server.cli("project", "rm", "red")


def test_what_is_not_there_is_said_without_a_traceback(server: RotaServer) -> None:
    for words in (("show", "999999"), ("logs", "999999"), ("cancel", "999999"), ("why", "999999.3")):
        done = server.rota(*words)
        assert done.returncode == 3
        assert done.stderr.startswith("rota: ")
        assert "Traceback" not in done.stderr
