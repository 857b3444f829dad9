"""Jobs that take more than they asked for, start processes without end, or leave daemons behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from rota.backends.process.keeper.cgroups.finding import find_cgroups
from rota.backends.process.keeper.cgroups.groups import Cgroups, Group, Wanted
from rota.launch.account import Account
from rota.launch.starting import Program, Streams, start
from rota.lifecycle.state import EndReason, Phase
from rota.model.resources import Resources
from tests.real.conftest import missing
from tests.real.process.host import is_alive
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("trust-2")]

MOST_PROCESSES = 40
_RUNS_AWAY = b"its child runs on under another number"
NOBODY = Account(65534, 65534)

both_ways = pytest.mark.parametrize("directory", ["", "/"], ids=["spawned", "forked"])
"""A job with a directory of its own is started in another way."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    environment = {"ROTA_WORKER_PIDS": str(MOST_PROCESSES), "ROTA_WORKER_CPUS": "4"}
    server = RotaServer(tmp_path_factory.mktemp("server"), environment=environment)
    server.start()
    try:
        [node] = server.client.nodes()
        if "limit" in node.message:
            missing(f"this host says: {node.message}")
        yield server
    finally:
        server.remove()


def python(program: str, directory: str = "", **fields: object) -> dict[str, object]:
    where = {"directory": directory} if directory else {}
    command = [sys.executable, "-c", dedent(program)]
    return {"command": command, "time_limit": "1m", "grace": "1s", **where, **fields}


@both_ways
def test_memory_that_was_asked_for_is_all_that_a_job_gets(server: RotaServer, directory: str) -> None:
    job = server.submit_one(python("x = b'x' * (400 << 20)", directory, resources={"memory": "64Mi"}))
    assert server.over(job).phase is Phase.FAILED
    [attempt] = server.client.job(job).attempts
    assert attempt.reason is EndReason.OUT_OF_MEMORY
    assert attempt.max_memory_bytes is not None
    assert attempt.max_memory_bytes <= 64 << 20


def test_a_job_may_set_its_limit_above_what_it_asks_for(server: RotaServer) -> None:
    job = python("x = b'x' * (100 << 20)", resources={"memory": "32Mi"}, limits={"memory": "400Mi"})
    assert server.run(job).phase is Phase.SUCCEEDED


def test_what_a_job_used_is_its_own(server: RotaServer) -> None:
    """Not that of the process which started it."""
    job = server.submit_one(shell("exit 0"))
    server.over(job)
    [attempt] = server.client.job(job).attempts
    assert attempt.max_memory_bytes is not None
    assert attempt.max_memory_bytes < 10 << 20


FORK_BOMB = """
    import os, time
    started = 0
    for _ in range(500):
        try:
            pid = os.fork()
        except BlockingIOError:
            break
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        started += 1
    print(started, flush=True)
"""


@both_ways
def test_a_fork_bomb_is_bounded(server: RotaServer, directory: str) -> None:
    job = server.submit_one(python(FORK_BOMB, directory))
    assert server.over(job).phase is Phase.SUCCEEDED
    assert 0 < int(server.output(job)) < MOST_PROCESSES


RUNAWAY = """
    import os, time
    # Whoever reads its number and then kills it is too late: its child runs on under another number.
    end = time.monotonic() + 50
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
            while time.monotonic() < end:
                try:
                    if os.fork():
                        os._exit(0)
                except BlockingIOError:
                    pass
            os._exit(0)
    time.sleep(0.5)
"""


def test_processes_that_run_from_their_killer_are_caught(server: RotaServer) -> None:
    assert server.run(python(RUNAWAY)).phase is Phase.SUCCEEDED
    assert not [pid for pid in os.listdir("/proc") if pid.isdecimal() and _RUNS_AWAY in program_of(pid)]


def program_of(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


DAEMON = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            script = "echo $$ > {told}; exec sleep 300"
            quiet = os.open("/dev/null", os.O_RDWR)
            for stream in range(3):
                os.dup2(quiet, stream)
            os.execve("/bin/sh", ["sh", "-c", script], {{}})
        os._exit(0)
    time.sleep(300)
"""


@both_ways
def test_a_daemon_without_a_trace_ends_at_the_time_limit(
    server: RotaServer, tmp_path: Path, directory: str
) -> None:
    """Another job runs all the while: it could be that one's."""
    told = tmp_path / "pid"
    other = server.submit_one(shell("sleep 300", time_limit="10m"))
    server.started(other)
    job = server.submit_one(python(DAEMON.format(told=told), directory, time_limit="3s"))
    daemon = int(eventually(lambda: told.read_text().strip() if told.exists() else "", "the daemon"))
    try:
        assert server.over(job).phase is Phase.TIMED_OUT
        eventually(lambda: not is_alive(daemon), "the daemon to end")
        assert server.client.job(other).job.phase is Phase.RUNNING
    finally:
        server.client.cancel(other)
        with suppress(ProcessLookupError):
            os.kill(daemon, 9)


# -- a job of another account than the keeper's


@pytest.fixture
def cgroups() -> Iterator[Cgroups]:
    if os.geteuid() != 0:
        missing("only root can start processes of other accounts")
    found = find_cgroups(
        f"rota-test-{os.getpid()}",
        mountinfo=Path("/proc/self/mountinfo").read_text(),
        own=Path("/proc/self/cgroup").read_text(),
    )
    if found.lacking:
        missing(f"this host says: {'; '.join(found.lacking)}")
    yield found
    found.remove()


def run_inside(group: Group, script: str) -> str:
    """What it prints, as a process of nobody's in the group."""
    reading, writing = os.pipe()
    program = Program(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, "/", group.paths, NOBODY)
    child = start(program, Streams(writing, writing))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child.pid, 0)
    os.close(child.word)
    return said


def test_a_job_of_another_account_can_neither_leave_nor_change_its_group(cgroups: Cgroups) -> None:
    group = cgroups.take(Wanted(Resources(memory_bytes=64 << 20)))
    assert group is not None
    files = [f"{path}/{file.name}" for path in group.paths for file in Path(path).iterdir()]
    outside = [f"{Path(path).parents[up]}/cgroup.procs" for path in group.paths for up in (0, 1)]
    attempts = [
        f"(echo {value} > {file}) 2>/dev/null && echo {file}" for file in files for value in (0, "-1")
    ]
    attempts += [f"(echo $$ > {file}) 2>/dev/null && echo {file}" for file in outside]
    attempts += [f"mkdir {path}/inner 2>/dev/null && echo {path}" for path in group.paths]
    said = run_inside(group, f"cat /proc/self/cgroup; echo; {'; '.join(attempts)}; cat /proc/self/cgroup")
    before, _, after = said.partition("\n\n")
    inside = [line for line in before.splitlines() if line.endswith(group.paths[0].rpartition("/rota-")[2])]
    assert inside
    assert after.strip() == before.strip()
    cgroups.give_back(group)
