"""What a task finds when it starts, and what is left when it has ended."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.backends.backend import TaskEnded, TaskStart, TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.ids import NodeName
from rota.model.run import Run
from tests.backends.witness import ref
from tests.real.process.host import NODE, appears, gone, host, is_alive, shell

pytestmark = pytest.mark.slow


@pytest.mark.covers("job-2")
async def test_environment_directory_and_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "x")

    async with host(tmp_path / "backend") as here:
        run = Run(
            command=("sh", "-c", 'pwd; echo "$A $B"; echo "<$1>"; env', "sh", "two words"),
            directory=str(tmp_path),
            environment=(("A", "run"), ("B", "run")),
        )
        await here.backend.start([TaskStart(ref("1"), NODE, run, environment=(("B", "start"),))])
        assert (await here.end_of(ref("1"))).end.succeeded
        text = await here.output_text("1")
        assert text.startswith(f"{tmp_path}\nrun start\n<two words>\n")
        assert "SECRET" not in text


@pytest.mark.covers("job-2")
@pytest.mark.parametrize("first_line, shell_name", [("", "/bin/sh"), ("#!/bin/cat\n", None)])
async def test_scripts(tmp_path: Path, first_line: str, shell_name: str | None) -> None:
    async with host(tmp_path / "backend") as here:
        script = f"{first_line}echo out $1"
        await here.backend.start(
            [TaskStart(ref("1"), NODE, Run(script=script, command=() if first_line else ("a",)))]
        )
        assert (await here.end_of(ref("1"))).end.succeeded
        assert await here.output_text("1") == ("out a\n" if shell_name else script)


async def test_the_host_file_has_a_line_for_each_rank(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        hosts = (NodeName("a"), NodeName("a"), NodeName("b"))
        run = Run(command=("sh", "-c", "cat $ROTA_HOSTFILE"))
        await here.backend.start([TaskStart(ref("1"), NODE, run, hosts=hosts)])
        await here.end_of(ref("1"))
        assert await here.output_text("1") == "a\na\nb\n"


@pytest.mark.parametrize(
    "run, message",
    [
        (Run(command=("no-such-program",)), "'no-such-program' isn't in PATH"),
        (Run(command=("/no/such/file",)), "/no/such/file: No such file or directory"),
        (Run(command=("true",), directory="/no/such/folder"), "/no/such/folder: No such file"),
        (Run(command=("true",), warn_signal="SIGNAL"), "no signal 'SIGNAL'"),
        (Run(command=("true",), environment=(("A", "\0"),)), "null"),
        (Run(), "neither a command nor a script"),
    ],
)
@pytest.mark.covers("ops-3")
async def test_what_cannot_be_started_says_why(tmp_path: Path, run: Run, message: str) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([TaskStart(ref("1"), NODE, run)])
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.NOT_STARTED
        assert message in end.message
        assert not any(isinstance(report, TaskStarted) for report in here.reports)


@pytest.mark.covers("job-5")
async def test_nothing_of_a_tasks_folder_is_left(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        mess = "mkdir -p a/b; touch a/b/c $TMPDIR/t ../beside; chmod 0 a/b a; pwd"
        await here.backend.start([shell("1", mess)])
        await here.end_of(ref("1"))
        folder = Path((await here.output_text("1")).strip())
        async with asyncio.timeout(30):
            while folder.exists():
                await asyncio.sleep(0.02)
        await here.backend.start([shell("2", "ls -A . .. $TMPDIR")])
        await here.end_of(ref("2"))
        assert "c" not in (await here.output_text("2")).split()


@pytest.mark.covers("time-7")
async def test_a_warning_comes_before_the_time_limit(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        script = "trap 'echo warned' USR1; trap 'echo ended; exit 1' TERM; while :; do sleep 0.02; done"
        run = Run(command=("sh", "-c", script), warn_signal="SIGUSR1", warn_before_ms=300)
        await here.backend.start([TaskStart(ref("1"), NODE, run, time_limit_ms=800)])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT
        lines = (await here.output_text("1")).splitlines()
        assert lines.index("warned") < lines.index("ended")


@pytest.mark.covers("time-7")
async def test_a_limit_can_be_changed_while_the_task_runs(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        run = Run(command=("sleep", "1000"))
        await here.backend.start([TaskStart(ref("1"), NODE, run, time_limit_ms=3_600_000)])
        await here.started(ref("1"))
        await here.backend.change_limit(ref("1"), 100)
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT


async def test_the_end_that_must_be_kept_comes_before_the_limit(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        run = Run(command=("sleep", "1000"))
        await here.backend.start([TaskStart(ref("1"), NODE, run, time_limit_ms=3_600_000, end_before_ms=1)])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT


async def test_what_it_used_is_reported(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        busy = "import time\nx = bytearray(100_000_000)\nwhile time.process_time() < 0.2: pass"
        await here.backend.start([TaskStart(ref("1"), NODE, Run(command=("python3", "-c", busy)))])
        used = (await here.end_of(ref("1"))).end.used
        assert used.cpu_ms >= 200
        assert used.max_memory_bytes >= 100_000_000


async def test_death_by_signal_is_told_apart(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([shell("1", "kill -SEGV $$")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.signal) == (EndReason.SIGNALLED, signal.SIGSEGV)


IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)


@pytest.fixture
def as_by_nohup() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("as_by_nohup")
async def test_tasks_ignore_nothing_whatever_the_keeper_ignores(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        inherited = _ignored(Path(f"/proc/{here.keeper()}/status").read_text())
        assert inherited >= {*IGNORED, signal.SIGPIPE, signal.SIGXFSZ}, "Python ignores these two"
        await here.backend.start(
            [
                TaskStart(ref("1"), NODE, Run(command=("cat", "/proc/self/status"))),
                *(shell(number.name, f"kill -{number.value} $$") for number in inherited),
            ]
        )
        assert (await here.end_of(ref("1"))).end.succeeded
        assert _ignored(await here.output_text("1")) == set()
        for number in inherited:
            end = (await here.end_of(ref(number.name))).end
            assert (end.reason, end.signal) == (EndReason.SIGNALLED, number)


def _ignored(status: str) -> set[signal.Signals]:
    """Of /proc/PID/status."""
    [line] = [line for line in status.splitlines() if line.startswith("SigIgn:")]
    bits = int(line.partition(":")[2], 16)
    return {number for number in signal.Signals if bits >> (number - 1) & 1}


async def test_tasks_on_standby_start_in_turn(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        tasks = [shell(str(n), "sleep 0.05", lane="l", standby=n > 1) for n in range(1, 6)]
        await here.backend.start(tasks)
        for task in tasks:
            await here.end_of(task.ref)
        running: set[str] = set()
        for report in here.reports:
            if isinstance(report, TaskStarted):
                running.add(report.ref.job)
            elif isinstance(report, TaskEnded):
                running.discard(report.ref.job)
            assert len(running) <= 1 or report.ref.job in running
        started = [report.ref.job for report in here.reports if isinstance(report, TaskStarted)]
        assert started == ["1", "2", "3", "4", "5"]


async def test_a_task_on_standby_can_be_taken_back(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        first = shell("1", f"echo $$ > {tmp_path}/pid; sleep 1000", lane="l")
        await here.backend.start([first, shell("2", "true", lane="l", standby=True)])
        pid = int(await appears(tmp_path / "pid"))
        await here.backend.stop([ref("2")])
        await here.returned(ref("2"))
        assert is_alive(pid)
        await here.backend.stop([ref("1")])
        await gone([pid])


async def test_a_standby_whose_lane_is_empty_comes_back(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([shell("1", "true", lane="l", standby=True)])
        await here.returned(ref("1"))


async def test_no_descriptors_are_left_after_2000_tasks(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([shell("0", "true")])
        await here.end_of(ref("0"))
        keeper = here.keeper()
        before = len(os.listdir(f"/proc/{keeper}/fd"))
        tasks = [
            TaskStart(ref(str(n)), NODE, Run(command=("/bin/true",)), lane="l", standby=n > 4)
            for n in range(1, 2001)
        ]
        await here.backend.start(tasks)
        for task in tasks:
            assert (await here.end_of(task.ref)).end.succeeded
        await here.backend.settle([task.ref for task in tasks])
        # Cgroups that wait for the next task have a few open: there are as many as tasks ran at a time.
        assert len(os.listdir(f"/proc/{keeper}/fd")) < before + 100
