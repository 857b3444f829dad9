"""A process backend with a keeper of its own, and what tests ask of it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from rota.backends.backend import (
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
    TaskStarted,
)
from rota.backends.process.backend import ProcessBackend
from rota.backends.process.frames import Hello, Inbox, read_answer
from rota.backends.process.log_writer import DEFAULT_ROTATION, Rotation
from rota.model.ids import JobId, NodeName
from rota.model.run import Run

NODE = NodeName("here")
PATIENCE_S = 60.0


def ref(job: str, rank: int = 0, fence: int = 1) -> TaskRef:
    return TaskRef(JobId(job), rank, fence)


def shell(job: str, script: str, *, lane: str = "", standby: bool = False) -> TaskStart:
    return TaskStart(ref(job), NODE, Run(command=("/bin/sh", "-c", script)), lane=lane, standby=standby)


class Host:
    """Collects reports as they come, and settles none unless told to."""

    def __init__(self, backend: ProcessBackend, folder: Path) -> None:
        self.backend = backend
        self.folder = folder
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

    async def chunks(self, job: str, *, follow: bool = False, **query: object) -> list[LogChunk]:
        found: list[LogChunk] = []
        async for batch in self.backend.logs(LogQuery(JobId(job), follow=follow, **query)):  # type: ignore[arg-type]
            found.extend(batch)
        return found

    async def output_text(self, job: str) -> str:
        return b"".join(chunk.data for chunk in await self.chunks(job)).decode()

    async def says(self, job: str, text: str) -> None:
        """Waits until it is in the logs."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in await self.output_text(job):
                await asyncio.sleep(0.02)

    def keeper(self) -> int:
        return keeper_of(self.folder)


@asynccontextmanager
async def host(
    folder: Path, *, rotation: Rotation = DEFAULT_ROTATION, end_keeper: bool = True
) -> AsyncIterator[Host]:
    backend = ProcessBackend(folder, NODE, rotation=rotation, keeper_idle_ms=2_000)
    await backend.open()
    opened = Host(backend, folder)
    collecting = asyncio.create_task(opened.collect())
    try:
        yield opened
    finally:
        collecting.cancel()
        with suppress(asyncio.CancelledError):
            await collecting
        await backend.close()
        if end_keeper:
            await end(folder)


async def end(folder: Path) -> None:
    """The keeper of this folder and all its tasks."""
    try:
        pid = keeper_of(folder)
    except OSError:
        return
    os.kill(pid, signal.SIGTERM)
    await gone([pid])


async def gone(pids: Iterable[int]) -> None:
    """Waits until none of these processes is left."""
    async with asyncio.timeout(PATIENCE_S):
        while any(map(is_alive, pids)):
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Zombies aren't."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def appears(path: Path) -> str:
    """What a task has written there, once it has."""
    async with asyncio.timeout(PATIENCE_S):
        while not (path.exists() and path.read_text().endswith("\n")):
            await asyncio.sleep(0.02)
    return path.read_text()


def keeper_of(folder: Path) -> int:
    """Raises OSError if there is none."""
    root = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"/proc/self/fd/{root}/keeper.sock")
            inbox = Inbox()
            while data := link.recv(65536):
                for body in inbox.feed(data):
                    hello = read_answer(body)
                    assert isinstance(hello, Hello)
                    return hello.pid
    finally:
        os.close(root)
    raise ConnectionResetError("the keeper said nothing")
