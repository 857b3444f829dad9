"""A job whose directory is on a file system that doesn't answer harms nobody but itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.backends.backend import TaskStart, TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.witness import PATIENCE_S, ref
from tests.real.hung_folder import hung_folder
from tests.real.process.host import NODE, Host, host, shell

pytestmark = pytest.mark.slow

RUNS = [
    pytest.param(lambda hung: Run(command=("true",), directory=hung), id="directory"),
    pytest.param(lambda hung: Run(command=("tool",), environment=(("PATH", hung),)), id="folder in PATH"),
    pytest.param(lambda hung: Run(command=(f"{hung}/tool",)), id="program"),
    pytest.param(lambda hung: Run(script=f"#!{hung}/python\n"), id="interpreter"),
]


@asynccontextmanager
async def hanging(tmp_path: Path, start: TaskStart, waits: threading.Event) -> AsyncIterator[Host]:
    """A host on which this task hangs."""
    async with host(tmp_path / "backend", start_within_ms=3_000) as here:
        await here.backend.start([start])
        assert await asyncio.to_thread(waits.wait, PATIENCE_S)
        yield here


@pytest.mark.covers("trust-5")
@pytest.mark.parametrize("run", RUNS)
def test_others_start_and_end_meanwhile_and_it_fails_with_a_reason(tmp_path: Path, run: object) -> None:
    assert callable(run)

    async def check(waits: threading.Event) -> None:
        start = TaskStart(ref("1"), NODE, run(str(tmp_path / "hung")))
        async with hanging(tmp_path, start, waits) as here:
            limited = TaskStart(ref("2"), NODE, Run(command=("sleep", "1000")), time_limit_ms=200)
            await here.backend.start([limited, shell("3", "echo fine")])
            assert (await here.end_of(ref("2"))).end.reason is EndReason.TIME_LIMIT
            assert (await here.end_of(ref("3"))).end.succeeded
            end = (await here.end_of(ref("1"))).end
            assert end.reason is EndReason.NOT_STARTED
            assert "doesn't answer" in end.message
            assert TaskStarted not in [type(each) for each in here.reports if each.ref == ref("1")]

    with hung_folder(tmp_path / "hung") as waits:
        asyncio.run(check(waits))


@pytest.mark.covers("trust-5")
def test_it_can_be_cancelled_and_its_place_used(tmp_path: Path) -> None:
    async def check(waits: threading.Event) -> None:
        run = Run(command=("true",), directory=str(tmp_path / "hung"), grace_ms=1_000_000)
        async with hanging(tmp_path, TaskStart(ref("1"), NODE, run), waits) as here:
            await here.backend.stop([ref("1")])
            assert (await here.end_of(ref("1"))).end.reason is EndReason.STOPPED
            await here.backend.start([shell("2", "echo fine")])
            assert (await here.end_of(ref("2"))).end.succeeded
            assert (await here.backend.health()).healthy

    with hung_folder(tmp_path / "hung") as waits:
        asyncio.run(check(waits))
