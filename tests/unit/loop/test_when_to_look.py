"""The loop decides when something may start that couldn't before, and leaves it at that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.lifecycle.state import EndReason, TaskEnd
from rota.loop.live.loop import LATER_S
from rota.loop.live.runtime import Runtime
from rota.model.ids import JobId
from rota.model.run import Retry
from tests.kit.live import running, spec, submit
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend, node

pytestmark = pytest.mark.virtual_time


@asynccontextmanager
async def started(path: Path, backend: ObedientBackend) -> AsyncIterator[Runtime]:
    """After its first cycle."""
    async with running(path, backend) as runtime:
        await eventually(lambda: runtime.live.cycles == 1)
        yield runtime


def has_started(runtime: Runtime, *jobs: str) -> bool:
    return all(runtime.memory.jobs[JobId(job)].started_ms is not None for job in jobs)


async def test_jobs_that_come_and_room_that_gets_free_bring_one_cycle_each(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with started(tmp_path, backend) as runtime:
        await submit(runtime.desks, spec(), spec(), spec())
        await eventually(lambda: has_started(runtime, "1", "2"))
        await asyncio.sleep(0.5 * LATER_S)
        assert runtime.live.cycles == 2, "one for the jobs that came, none for their starts"
        backend.end_job("1")
        await eventually(lambda: has_started(runtime, "3"))
        assert runtime.live.cycles == 3, "one for the end"


async def test_a_change_that_lets_nobody_start_brings_one_cycle_a_little_later(tmp_path: Path) -> None:
    async with started(tmp_path, ObedientBackend()) as runtime:
        await submit(runtime.desks, spec())
        await eventually(lambda: has_started(runtime, "1"))
        await asyncio.sleep(0.9 * LATER_S)
        assert runtime.live.cycles == 2, "the one that started it"
        await asyncio.sleep(0.1 * LATER_S)
        assert runtime.live.cycles == 3
        await asyncio.sleep(10 * LATER_S)
        assert runtime.live.cycles == 3, "nothing has changed since"


async def test_a_job_that_waits_again_brings_a_cycle_when_its_pause_is_over(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with started(tmp_path, backend) as runtime:
        await submit(runtime.desks, spec(retry=Retry(limit=1, backoff_ms=10_000)))
        await eventually(lambda: has_started(runtime, "1"))
        backend.end_job("1", TaskEnd(EndReason.EXITED, exit_code=3))
        await asyncio.sleep(12)
        assert len(backend.seen) == 1
        await asyncio.sleep(1)
        assert len(backend.seen) == 2, "10 s, and half of the half that chance may add"
