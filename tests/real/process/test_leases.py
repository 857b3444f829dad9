"""Under a lease, tasks end in time though nobody tells them to, whatever grace they have."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.agent.lease import LeaseHolder
from rota.backends.backend import TaskStart
from rota.backends.process.client.backend import ProcessBackend
from rota.backends.process.client.find_keeper import Launch
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.folders import Folders
from rota.backends.process.options import KeeperOptions
from rota.clock import since_boot_ms
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.witness import Witness, collecting, ref
from tests.real.process.host import NODE, end, gone, is_alive, keeper_of

pytestmark = [pytest.mark.slow, pytest.mark.covers("agent-6")]

STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.05; done"


def stubborn(job: str) -> TaskStart:
    """One that would take a minute to end."""
    return TaskStart(ref(job), NODE, Run(command=("/bin/sh", "-c", STUBBORN), grace_ms=60_000))


class Leased(Witness):
    backend: ProcessBackend

    def __init__(self, folder: Path) -> None:
        super().__init__(ProcessBackend(folder, NODE))
        folders = Folders(folder)
        folders.make()
        self.line = self.backend._line = KeeperLine(
            Launch(folders, KeeperOptions(idle_ms=2_000, is_leased=True))
        )
        self.holder = LeaseHolder(folders.lease)

    def renew(self, lease_ms: int, grace_ms: int = 200) -> int:
        return self.holder.renew(since_boot_ms(), lease_ms, grace_ms)


@asynccontextmanager
async def leased(folder: Path, *, end_keeper: bool = True) -> AsyncIterator[Leased]:
    host = Leased(folder)
    try:
        async with collecting(host):
            yield host
    finally:
        if end_keeper:
            await end(folder)


async def test_a_lease_that_is_not_renewed_ends_all_tasks(tmp_path: Path) -> None:
    async with leased(tmp_path) as here:
        began_ms = since_boot_ms()
        number = here.renew(2_000, grace_ms=500)
        await here.line.start([stubborn("1")], lease=number)
        report = await here.end_of(ref("1"))
        assert (report.end.reason, report.end.signal) == (EndReason.LOST, signal.SIGKILL)
        assert "no contact" in report.end.message
        assert since_boot_ms() >= began_ms + 2_000


async def test_it_ends_them_though_nobody_is_connected(tmp_path: Path) -> None:
    async with leased(tmp_path, end_keeper=False) as before:
        script = f"echo $$ > {tmp_path}/pid; {STUBBORN}"
        run = Run(command=("/bin/sh", "-c", script), grace_ms=60_000)
        number = before.renew(2_000)
        await before.line.start([TaskStart(ref("1"), NODE, run)], lease=number)
        await before.says("1", "up")
    pid = int((tmp_path / "pid").read_text())
    await gone([pid])
    async with leased(tmp_path) as after:
        assert (await after.end_of(ref("1"))).end.reason is EndReason.LOST


async def test_renewed_in_time_nothing_happens(tmp_path: Path) -> None:
    async with leased(tmp_path) as here:
        number = here.renew(1_500)
        await here.line.start([stubborn("1")], lease=number)
        await here.says("1", "up")
        for _ in range(12):
            assert here.renew(1_500) == number
            await asyncio.sleep(0.25)
        assert here.kinds(ref("1"))[1:] == []
        assert await here.running() == [ref("1")]


async def test_what_comes_after_its_lease_has_ended_never_starts(tmp_path: Path) -> None:
    """As an agent that was frozen would send it, once it goes on."""

    async with leased(tmp_path) as here:
        await here.line.start([stubborn("1")], lease=0)
        assert (await here.end_of(ref("1"))).end.reason is EndReason.LOST
        old = here.renew(250)
        await asyncio.sleep(0.3)
        new = here.renew(4_000)
        await here.line.start([stubborn("2")], lease=old)
        await here.line.start([stubborn("3")], lease=new)
        assert (await here.end_of(ref("2"))).end.reason is EndReason.LOST
        await here.says("3", "up")
        assert await here.output_text("2") == ""


async def test_another_keeper_holds_to_it_as_well(tmp_path: Path) -> None:
    async with leased(tmp_path) as here:
        script = f"echo $$ > {tmp_path}/pid; {STUBBORN}"
        run = Run(command=("/bin/sh", "-c", script), grace_ms=60_000)
        number = here.renew(4_000)
        await here.line.start([TaskStart(ref("1"), NODE, run)], lease=number)
        await here.says("1", "up")
        os.kill(keeper_of(tmp_path), signal.SIGKILL)
        assert await here.running() == [ref("1")]
        pid = int((tmp_path / "pid").read_text())
        assert is_alive(pid)
        assert (await here.end_of(ref("1"))).end.reason is EndReason.LOST
        assert not is_alive(pid)
