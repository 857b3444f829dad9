"""No process of a task outlives it, whatever it did to get away."""

import signal
from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.witness import ref
from tests.real.process.host import NODE, appears, gone, host, is_alive, shell

pytestmark = pytest.mark.slow

DOUBLE_FORK = "(setsid sh -c 'echo $$ > {file}; exec sleep 1000' &)"
WITHOUT_ENVIRONMENT = "(env -i setsid sh -c 'echo $$ > {file}; exec sleep 1000' >/dev/null 2>&1 &)"


@pytest.mark.covers("job-5")
@pytest.mark.parametrize("escape", [DOUBLE_FORK, WITHOUT_ENVIRONMENT])
async def test_daemons_end_with_their_task(tmp_path: Path, escape: str) -> None:
    async with host(tmp_path / "backend") as here:
        file = tmp_path / "pid"
        line = escape.format(file=file)
        await here.backend.start([shell("1", f"{line}; while [ ! -s {file} ]; do sleep 0.01; done")])
        pid = int(await appears(file))
        report = await here.end_of(ref("1"))
        assert report.end.succeeded
        await gone([pid])


async def test_a_daemon_of_a_task_that_runs_is_left_alone(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        file = tmp_path / "pid"
        await here.backend.start([shell("1", f"{DOUBLE_FORK.format(file=file)}; exec sleep 1000")])
        pid = int(await appears(file))
        await here.backend.start([shell("2", "true")])
        await here.end_of(ref("2"))
        assert is_alive(pid)
        await here.backend.stop([ref("1")])
        await here.end_of(ref("1"))
        assert not is_alive(pid)


async def test_who_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
        run = Run(command=("/bin/sh", "-c", stubborn), grace_ms=200)
        await here.backend.start([TaskStart(ref("1"), NODE, run)])
        await here.says("1", "ready")
        await here.backend.stop([ref("1")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.signal) == (EndReason.STOPPED, signal.SIGKILL)


async def test_who_heeds_sigterm_may_clean_up(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        polite = "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
        await here.backend.start([shell("1", polite)])
        await here.says("1", "ready")
        await here.backend.stop([ref("1")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.exit_code) == (EndReason.STOPPED, 3)
        assert (await here.output_text("1")).endswith("cleaned\n")


async def test_a_stopped_process_is_ended_too(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([shell("1", "echo $$; kill -STOP $$; sleep 1000")])
        await here.says("1", "\n")
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("1"))).end.signal == signal.SIGTERM
