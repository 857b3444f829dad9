"""What runs doesn't care whether the server does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from tests.real.process.host import keeper_of
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import RotaServer, eventually, shell

UNTIL_TOLD = (
    'echo "begun by $$"; n=0; while [ ! -e {file} ]; do n=$((n+1)); echo $n; sleep 0.02; done; echo end'
)


@pytest.mark.covers("job-3", "job-4")
def test_what_runs_is_found_again_with_all_that_it_wrote(any_store: RotaServer, tmp_path: Path) -> None:
    server = any_store
    told = tmp_path / "told"
    job, waiting = server.submit(
        shell(UNTIL_TOLD.format(file=told), resources={"cpu": server.cpus}),
        shell("echo after", resources={"cpu": server.cpus}),
    )
    server.says(job, "3\n")
    server.kill()
    time.sleep(0.3)  # It goes on writing while nobody is there to read.
    server.start()
    assert server.client.job(job).job.phase is Phase.RUNNING
    told.touch()
    assert server.over(job).phase is Phase.SUCCEEDED
    lines = server.output(job).splitlines()
    count = len(lines) - 2
    assert (lines[0].partition(" by ")[0], lines[-1]) == ("begun", "end")
    assert lines[1:-1] == [str(n) for n in range(1, count + 1)]
    assert len(server.client.job(job).attempts) == 1
    assert server.over(waiting).phase is Phase.SUCCEEDED


@pytest.mark.covers("time-7")
def test_a_time_limit_holds_while_the_server_is_away(new_server: NewServer, tmp_path: Path) -> None:
    server = new_server()
    alive = tmp_path / "alive"
    job = server.submit_one(
        shell(f"echo begun; while true; do date +%s%N > {alive}; sleep 0.02; done", time_limit="1s")
    )
    server.says(job, "begun")
    server.kill()
    eventually(lambda: time.time_ns() - alive.stat().st_mtime_ns > 500_000_000, "the task to end")
    server.start()
    over = server.over(job)
    assert (over.phase, over.cause) == (Phase.TIMED_OUT, Cause.TIME_LIMIT)
    assert over.started is not None
    assert over.ended is not None
    assert (over.ended - over.started).total_seconds() >= 1
    assert len(server.client.job(job).attempts) == 1


@pytest.mark.covers("job-3")
def test_a_task_that_was_killed_with_its_keeper_runs_again(new_server: NewServer, tmp_path: Path) -> None:
    """As if the machine had been switched off."""
    server = new_server()
    told = tmp_path / "told"
    job = server.submit_one(shell(UNTIL_TOLD.format(file=told)))
    first = server.says(job, "3\n").splitlines()[0]
    keeper, task = keeper_of(server.data / "worker"), int(first.split()[-1])
    server.kill()
    for pid in (keeper, task):
        os.kill(pid, signal.SIGKILL)
    # Until somebody has reaped it, a keeper could still learn how it ended.
    eventually(lambda: not Path(f"/proc/{task}").exists(), "all of the task to be gone")
    server.start()
    told.touch()
    assert server.over(job).phase is Phase.SUCCEEDED
    before, after = server.client.job(job).attempts
    assert before.fence < after.fence


def test_a_server_that_is_told_to_stop_keeps_all_and_leaves_no_address(new_server: NewServer) -> None:
    server = new_server()
    held = server.submit_one(shell("true", hold=True))
    assert server.stop() == 0
    assert not (server.data / "server.json").exists()
    asked = server.rota("ls")
    assert (asked.returncode, "is `rota server` running" in asked.stderr) == (5, True)
    server.start()
    assert server.client.job(held).job.phase is Phase.CREATED


def test_two_servers_never_share_a_folder(server: RotaServer) -> None:
    second = server.rota("server", "--port", "0")
    assert second.returncode == 1
    assert "another server uses" in second.stderr
    assert "--data" in second.stderr
    assert server.client.me().user


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--address", "0.0.0.0"), "server.tls.self_signed"),
        (("--tls-cert", "/no/such/file", "--tls-key", "/no/such/file"), "/no/such/file"),
        (("--policy", "/no/such/policy.yaml"), "/no/such/policy.yaml"),
        (("--database", "mysql://somewhere/rota"), "database"),
        (("--database", "postgresql://127.0.0.1:1/rota"), "database"),
        (("--data", "/proc/rota"), "--data"),
        (("--address", "not an address"), "address"),
    ],
)
@pytest.mark.covers("ops-3")
def test_a_server_that_cannot_start_says_why(tmp_path: Path, flags: tuple[str, ...], named: str) -> None:
    server = RotaServer(tmp_path)
    done = server.rota("server", "--port", "0", *flags)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert named in done.stderr
