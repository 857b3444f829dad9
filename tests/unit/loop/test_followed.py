"""Output that is followed: all of it once, over waiting, retries and tasks that start late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from rota.backends.backend import LogChunk, LogQuery, Stream, TaskRef
from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.loop.desk.desks import LiveDesks
from rota.model.ids import JobId
from rota.model.job import Priority
from rota.model.run import Retry
from tests.kit.live import ADA, live, spec, submit, until
from tests.kit.waiting import eventually
from tests.obedient import SUCCESS, ObedientBackend, node

pytestmark = [pytest.mark.covers("job-4"), pytest.mark.virtual_time]

FAILURE = TaskEnd(EndReason.EXITED, exit_code=3)
STOPPED = TaskEnd(EndReason.STOPPED)


class Writing(ObedientBackend):
    """Tasks write what the test says."""

    def __init__(self, cpus: int = 4, stops_at_once: bool = True) -> None:
        super().__init__(node("n1", cpus), stops_at_once=stops_at_once)
        self._written: list[tuple[JobId, LogChunk]] = []

    def write(self, job: str, text: str) -> None:
        [ref] = [ref for ref in self.started if ref.job == job]
        self._written.append((ref.job, LogChunk(ref.rank, Stream.OUT, 1, text.encode(), ref.fence)))

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        found = [chunk for job, chunk in self._written if job == query.job]
        at = len(found) if query.tail_bytes == 0 else 0
        while True:
            is_last = not query.follow or not any(ref.job == query.job for ref in self.started)
            found = [chunk for job, chunk in self._written if job == query.job]
            if found[at:]:
                yield found[at:]
                at = len(found)
            if is_last:
                return
            await asyncio.sleep(0.005)


async def read(desk: LiveDesks, job: JobId, tail_bytes: int | None = None) -> str:
    chunks = desk.output.logs(LogQuery(job, follow=True, tail_bytes=tail_bytes))
    return b" ".join([one.data async for batch in chunks for one in batch]).decode()


async def test_from_before_the_start_over_a_retry_to_the_end(tmp_path: Path) -> None:
    backend = Writing()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec(retry=Retry(limit=1, backoff_ms=20), held=True))
        following = asyncio.create_task(read(desk, job.id))
        await asyncio.sleep(0.02)
        await desk.jobs.release(job.id, ADA)
        await until(desk, job, Phase.RUNNING)
        backend.write(job.id, "first")
        backend.end_job(job.id, FAILURE)
        await eventually(lambda: len(backend.seen) == 2)
        await until(desk, job, Phase.RUNNING)
        backend.write(job.id, "second")
        backend.end_job(job.id)
        assert await asyncio.wait_for(following, 20) == "first second"


async def test_a_task_that_is_kept_back_is_followed_once_it_starts(tmp_path: Path) -> None:
    """Its node is being vacated: it is bound long before its backend hears of it."""

    backend = Writing(cpus=2, stops_at_once=False)
    async with live(tmp_path, backend) as desk:
        [low] = await submit(desk, spec(cpus=2, priority=Priority.LOW))
        await until(desk, low, Phase.RUNNING)
        [high] = await submit(desk, spec(cpus=2, priority=Priority.MEDIUM))
        following = asyncio.create_task(read(desk, high.id))
        await until(desk, high, Phase.SCHEDULED)
        await asyncio.sleep(0.05)
        [victim] = backend.started
        backend.end(victim, STOPPED)
        await until(desk, high, Phase.RUNNING)
        backend.write(high.id, "at last")
        backend.end_job(high.id)
        assert await asyncio.wait_for(following, 20) == "at last"


async def test_what_was_before_the_tail_does_not_come_later(tmp_path: Path) -> None:
    backend = Writing()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec(retry=Retry(limit=1, backoff_ms=20)))
        await until(desk, job, Phase.RUNNING)
        backend.write(job.id, "before")
        following = asyncio.create_task(read(desk, job.id, tail_bytes=0))
        await asyncio.sleep(0.05)
        backend.end_job(job.id, FAILURE)
        await eventually(lambda: len(backend.seen) == 2)
        await until(desk, job, Phase.RUNNING)
        backend.write(job.id, "after")
        backend.end(TaskRef(job.id, 0, 2), SUCCESS)
        assert await asyncio.wait_for(following, 20) == "after"
