"""A backend without processes: tasks do what the test says, or end at once if it says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from rota.backends.backend import (
    Fed,
    Health,
    InputPiece,
    KeptFile,
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
    TaskStarted,
)
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import Resources

SUCCESS = TaskEnd(EndReason.EXITED, exit_code=0)
STOPPED = TaskEnd(EndReason.STOPPED)
LOST = TaskEnd(EndReason.LOST)
NOW = 2**62
"""Nobody believes reports from the future: it counts as the moment of the report."""


class ObedientBackend:
    """Keeps what it was told over a restart of whoever uses it, as a real one does."""

    def __init__(self, *nodes: Node, at_once: bool = False, stops_at_once: bool = True) -> None:
        self.name = "local"
        self.here = list(nodes) or [node("n1")]
        self.started: dict[TaskRef, TaskStart] = {}
        self.seen: list[TaskStart] = []
        self.stopped: list[TaskRef] = []
        self.limits: dict[TaskRef, int] = {}
        self.read: dict[TaskRef, bytearray] = {}
        self.unsettled: dict[TaskRef, TaskEnded] = {}
        self._at_once = at_once
        self._stops_at_once = stops_at_once
        self._reports: asyncio.Queue[Sequence[TaskReport]] = asyncio.Queue()

    async def open(self) -> None:
        self._reports = asyncio.Queue()
        if self.unsettled:
            self._reports.put_nowait(list(self.unsettled.values()))

    async def close(self) -> None:
        pass

    async def nodes(self) -> Sequence[Node]:
        return self.here

    async def node(self, name: NodeName) -> Node | None:
        return next((node for node in self.here if node.name == name), None)

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        expected = [ref for ref, _ in tasks]
        here = await self.running()
        unwanted = [ref for ref in here if ref not in expected]
        if unwanted:
            await self.stop(unwanted)
        return [ref for ref in here if ref in expected]

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        for task in tasks:
            if task.ref in self.started or task.ref in self.unsettled:
                continue
            self.seen.append(task)
            self.started[task.ref] = task
            if not task.standby:
                self.say(TaskStarted(task.ref, NOW))
                if self._at_once:
                    self.end(task.ref)

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        for ref in tasks:
            self.stopped.append(ref)
            if ref not in self.started and ref not in self.unsettled:
                self.unsettled[ref] = TaskEnded(ref, NOW, LOST)
                self.say(self.unsettled[ref])
            elif ref in self.started and self._stops_at_once:
                if self.started[ref].standby:
                    del self.started[ref]
                    self.say(TaskReturned(ref, NOW))
                else:
                    self.end(ref, STOPPED)

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        self.limits[task] = time_limit_ms

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        taken = self.read.setdefault(task, bytearray())
        taken += piece.data[len(taken) - piece.offset_bytes :]
        return Fed(len(taken), is_open=not piece.ends)

    async def running(self) -> Sequence[TaskRef]:
        return [*self.started, *self.unsettled]

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        while True:
            yield await self._reports.get()

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        for ref in tasks:
            self.unsettled.pop(ref, None)

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        yield []

    async def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        yield b""

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return [0] * len(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return []

    async def forget(self, jobs: Sequence[JobId]) -> None:
        pass

    async def health(self) -> Health:
        return Health(True)

    # -- what the test says

    def end(self, ref: TaskRef, end: TaskEnd = SUCCESS) -> None:
        del self.started[ref]
        self.unsettled[ref] = TaskEnded(ref, NOW, end)
        self.say(self.unsettled[ref])

    def end_job(self, job: str, end: TaskEnd = SUCCESS) -> None:
        for ref in [ref for ref in self.started if ref.job == job]:
            self.end(ref, end)

    def say(self, *reports: TaskReport) -> None:
        self._reports.put_nowait(reports)


def node(name: str, cpus: int = 4, gpus: int = 0) -> Node:
    capacity = Resources(cpu_milli=1000 * cpus, memory_bytes=16 << 30)
    return Node(NodeName(name), NodeSpec(capacity, Gpus(gpus)))
