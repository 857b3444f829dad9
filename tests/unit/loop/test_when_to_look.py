"""The loop decides when something may start that couldn't before, and leaves it at that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.api.documents import Role
from rota.control.access import Who
from rota.intake.submissions import Entry, Submission
from rota.lifecycle.state import EndReason, TaskEnd
from rota.loop.live import loop as module
from rota.loop.live.runtime import Runtime
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.model.run import JobSpec, Retry, Run
from rota.store.store import open_store
from tests.obedient import ObedientBackend, node
from tests.stored import template

ADA = Who("ada", Role.SUBMITTER)
NEVER_S = 3600.0


async def no_files(sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
    raise NotImplementedError


@asynccontextmanager
async def started(path: Path, backend: ObedientBackend) -> AsyncIterator[Runtime]:
    """After its first cycle."""
    with open_store(f"sqlite:///{path}/rota.db") as store:
        runtime = Runtime(
            store, Policy(), [backend], lambda: time.time_ns() // 1_000_000, lambda: 0.5, no_files
        )
        await runtime.start()
        try:
            await sure(lambda: runtime.live.cycles == 1)
            yield runtime
        finally:
            await runtime.stop()


async def sure(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def submit(runtime: Runtime, *specs: JobSpec) -> None:
    await runtime.desk.submit(Submission(tuple(map(Entry, specs))), ADA)


def has_started(runtime: Runtime, job: str) -> bool:
    return runtime.memory.jobs[JobId(job)].started_ms is not None


ONE_CPU = JobSpec(template(), Run(("true",)))


async def test_not_after_room_was_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATER_S", NEVER_S)

    backend = ObedientBackend(node("n1", cpus=2))
    async with started(tmp_path, backend) as runtime:
        await submit(runtime, ONE_CPU, ONE_CPU, ONE_CPU)
        await sure(lambda: has_started(runtime, "1") and has_started(runtime, "2"))
        assert runtime.live.cycles == 2, "one for the jobs that came in, none for their starts"
        backend.end_job("1")
        await sure(lambda: has_started(runtime, "3"))
        assert runtime.live.cycles == 3, "one for the end"


async def test_after_a_while_even_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATER_S", 0.02)

    async with started(tmp_path, ObedientBackend()) as runtime:
        await submit(runtime, ONE_CPU)
        await sure(lambda: runtime.live.cycles >= 3)


async def test_when_a_job_waits_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATER_S", NEVER_S)

    backend = ObedientBackend()
    async with started(tmp_path, backend) as runtime:
        await submit(runtime, replace(ONE_CPU, retry=Retry(limit=1, backoff_ms=1)))
        await sure(lambda: has_started(runtime, "1"))
        backend.end_job("1", TaskEnd(EndReason.EXITED, exit_code=3))
        await sure(lambda: len(backend.seen) == 2)
