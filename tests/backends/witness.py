"""An open backend, and what it has reported so far. Settles nothing unless told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from rota.backends.backend import (
    Backend,
    BackendUnavailable,
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStarted,
)
from rota.model.ids import JobId

PATIENCE_S = 60.0


def ref(job: str, rank: int = 0, fence: int = 1) -> TaskRef:
    return TaskRef(JobId(job), rank, fence)


class Witness:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.reports: list[TaskReport] = []
        self._news = asyncio.Condition()

    async def collect(self) -> None:
        async for batch in self.backend.reports():
            async with self._news:
                self.reports.extend(batch)
                self._news.notify_all()

    async def end_of(self, task: TaskRef) -> TaskEnded:
        report = await self._report(task, TaskEnded)
        assert isinstance(report, TaskEnded)
        return report

    async def started(self, task: TaskRef) -> None:
        await self._report(task, TaskStarted)

    async def returned(self, task: TaskRef) -> None:
        await self._report(task, TaskReturned)

    async def _report(self, task: TaskRef, kind: type[TaskReport]) -> TaskReport:
        def found() -> TaskReport | None:
            return next((each for each in self.reports if each.ref == task and isinstance(each, kind)), None)

        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(lambda: found() is not None)
        report = found()
        assert report is not None
        return report

    def kinds(self, task: TaskRef) -> list[type[TaskReport]]:
        """Of its reports, in their order."""
        return [type(report) for report in self.reports if report.ref == task]

    async def chunks(self, job: str, **query: Any) -> list[LogChunk]:
        async with asyncio.timeout(PATIENCE_S):
            return [
                chunk async for batch in self.backend.logs(LogQuery(JobId(job), **query)) for chunk in batch
            ]

    async def output_text(self, job: str, **query: Any) -> str:
        return b"".join(chunk.data for chunk in await self.chunks(job, **query)).decode()

    async def says(self, job: str, text: str) -> None:
        """Waits until it is in the logs."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in await self.output_text(job):
                await asyncio.sleep(0.02)

    async def left(self, job: str, path: str, rank: int = 0) -> bytes:
        """A file, as `output` gives it."""
        return b"".join([piece async for piece in self.backend.output(JobId(job), rank, path)])

    async def running(self) -> list[TaskRef]:
        """In order. Asks again while the backend can't be reached."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(BackendUnavailable):
                    return sorted(
                        await self.backend.running(), key=lambda each: (each.job, each.rank, each.fence)
                    )
                await asyncio.sleep(0.02)


@asynccontextmanager
async def collecting(witness: Witness) -> AsyncIterator[None]:
    """The witness's backend is open, and what it reports is noted."""
    await witness.backend.open()
    task = asyncio.create_task(witness.collect())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await witness.backend.close()
