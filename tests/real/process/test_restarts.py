"""Tasks outlive the server and the keeper, and so do their limits."""

import asyncio
import os
import signal
from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import pytest

from rota.backends.backend import TaskEnded, TaskStart, TaskStarted
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.recovery.journal import Journal, Told
from rota.clock import boot_id
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.witness import PATIENCE_S, ref
from tests.real.process.host import NODE, appears, end, gone, host, is_alive, keeper_of, shell

pytestmark = pytest.mark.slow

PR_SET_CHILD_SUBREAPER = 36
UNTIL_TOLD = "echo $$ > {0}/pid; while [ ! -e {0}/go ]; do sleep 0.02; done; echo went on; exit 7"


@pytest.mark.covers("job-3", "back-2")
async def test_a_server_that_restarts_finds_its_tasks_again(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", UNTIL_TOLD.format(tmp_path))])
        pid = int(await appears(tmp_path / "pid"))
    async with host(folder) as after:
        assert await after.running() == [ref("1")]
        await after.backend.start([shell("1", UNTIL_TOLD.format(tmp_path))])
        (tmp_path / "go").touch()
        assert (await after.end_of(ref("1"))).end.exit_code == 7
        assert int((tmp_path / "pid").read_text()) == pid
        assert await after.output_text("1") == "went on\n"


@pytest.mark.covers("time-7")
async def test_limits_hold_while_no_server_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        run = Run(command=("/bin/sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000"))
        await before.backend.start([TaskStart(ref("1"), NODE, run, time_limit_ms=700)])
        pid = int(await appears(tmp_path / "pid"))
    await gone([pid])
    async with host(folder) as after:
        assert (await after.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT


@pytest.mark.covers("job-3")
async def test_reports_come_again_until_they_are_settled(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", "true"), shell("2", "true")])
        await before.end_of(ref("1"))
        await before.end_of(ref("2"))
        await before.backend.settle([ref("1")])
    async with host(folder) as after:
        await after.end_of(ref("2"))
        assert await after.running() == [ref("2")]
        assert {report.ref for report in after.reports} == {ref("2")}
        assert [type(report) for report in after.reports] == [TaskStarted, TaskEnded]
        await after.backend.settle([ref("2")])
        assert await after.running() == []


@pytest.mark.covers("job-3", "back-2")
async def test_a_keeper_that_was_killed_is_replaced_and_its_tasks_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder) as here:
        await here.backend.start([shell("1", UNTIL_TOLD.format(tmp_path))])
        pid = int(await appears(tmp_path / "pid"))
        await kill_keeper(folder)
        assert await here.running() == [ref("1")]
        assert is_alive(pid)
        (tmp_path / "go").touch()
        end_ = (await here.end_of(ref("1"))).end
        # Only newer kernels tell how a process ended that is nobody's child here.
        assert end_.exit_code == 7 or end_.reason is EndReason.LOST
        assert await here.output_text("1") == "went on\n"


@pytest.mark.covers("time-7")
async def test_limits_hold_after_the_keeper_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    script = f"(setsid sleep 1000 & echo $! > {tmp_path}/daemon); echo $$ > {tmp_path}/pid; exec sleep 1000"
    async with host(folder) as here:
        run = Run(command=("/bin/sh", "-c", script))
        await here.backend.start([TaskStart(ref("1"), NODE, run, time_limit_ms=1_500)])
        pids = [int(await appears(tmp_path / name)) for name in ("pid", "daemon")]
        await kill_keeper(folder)
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT
        assert not any(map(is_alive, pids))


async def test_output_that_comes_while_there_is_no_keeper_waits_for_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    script = f"echo one; echo x > {tmp_path}/up; {wait}; head -c 300000 /dev/zero; echo x > {tmp_path}/done"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", script)])
        await before.says("1", "one")
    await kill_keeper(folder)
    (tmp_path / "go").touch()
    await asyncio.sleep(0.3)
    assert not (tmp_path / "done").exists()
    async with host(folder) as after:
        await after.end_of(ref("1"))
        data = b"".join(chunk.data for chunk in await after.chunks("1"))
        assert data == b"one\n" + bytes(300_000)


async def test_what_ended_while_there_was_no_keeper_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", UNTIL_TOLD.format(tmp_path))])
        pid = int(await appears(tmp_path / "pid"))
    await kill_keeper(folder)
    (tmp_path / "go").touch()
    async with asyncio.timeout(PATIENCE_S):
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.02)
    async with host(folder) as after:
        end_ = (await after.end_of(ref("1"))).end
        assert end_.reason is EndReason.LOST
        assert "it is unknown how" in end_.message


async def test_what_ended_while_there_was_no_keeper_is_lost_also_if_nobody_has_reaped_it(
    tmp_path: Path, reaps_late: None
) -> None:
    """What it wrote last has gone with it: an exit code would claim that all is there."""

    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", UNTIL_TOLD.format(tmp_path))])
        pid = int(await appears(tmp_path / "pid"))
    await kill_keeper(folder)
    (tmp_path / "go").touch()
    await gone([pid])
    async with host(folder) as after:
        await after.running()
        os.waitpid(pid, 0)
        assert (await after.end_of(ref("1"))).end.reason is EndReason.LOST


@pytest.fixture
def reaps_late() -> Iterator[None]:
    """What a keeper leaves behind becomes a child of the test."""
    kernel = CDLL(None)
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


async def test_sigterm_ends_tasks_and_then_the_keeper(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as before:
        await before.backend.start([shell("1", f"echo $$ > {tmp_path}/pid; exec sleep 1000")])
        pid = int(await appears(tmp_path / "pid"))
    await end(folder)
    assert not is_alive(pid)
    async with host(folder) as after:
        assert (await after.end_of(ref("1"))).end.reason is EndReason.STOPPED


async def test_a_keeper_with_nothing_to_do_ends_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder, end_keeper=False) as here:
        await here.backend.start([shell("1", "true")])
        await here.end_of(ref("1"))
        await here.backend.settle([ref("1")])
        pid = here.keeper()
    await gone([pid])


async def kill_keeper(folder: Path) -> None:
    pid = keeper_of(folder)
    os.kill(pid, signal.SIGKILL)
    await gone([pid])


@pytest.mark.covers("job-3")
@pytest.mark.parametrize("boot", ["another", ""])
async def test_what_was_told_before_the_machine_was_started_anew_never_starts(
    tmp_path: Path, boot: str
) -> None:
    """It may have run: what was written last before a loss of power is lost."""

    folders = Folders(tmp_path)
    folders.make()
    told = shell("1", f"touch {tmp_path}/ran")
    Journal(folders.journal, [Told(told, boot), Told(shell("2", "exit 7"), boot_id())]).close()
    async with host(tmp_path) as here:
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.LOST
        assert (await here.end_of(ref("2"))).end.exit_code == 7
    assert not (tmp_path / "ran").exists()
