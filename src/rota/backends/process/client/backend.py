"""This machine as a backend: talks to the keeper, and reads what it writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rota.backends.backend import (
    BackendUnavailable,
    Fed,
    Health,
    InputPiece,
    KeptFile,
    LogChunk,
    LogQuery,
    TaskRef,
    TaskReport,
    TaskStart,
)
from rota.backends.process.client.files import FileStore
from rota.backends.process.client.find_keeper import Launch
from rota.backends.process.client.gpus import FoundGpus, find_gpus
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.client.machine import ALL, this_machine
from rota.backends.process.client.task_files import TaskFiles
from rota.backends.process.folders import Folders
from rota.backends.process.options import DEFAULT_OPTIONS, KeeperOptions
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from rota.model.resources import Resources


class ProcessBackend:
    """Implements Backend. What runs goes on when it is closed, or ends with its server."""

    def __init__(
        self,
        folder: Path,
        node_name: NodeName,
        *,
        name: str = "local",
        keeper: KeeperOptions = DEFAULT_OPTIONS,
        share: Resources = ALL,
        price_micro_per_hour: int = 0,
        memory_margin_bytes: int = 0,
    ) -> None:
        """`share`: what jobs may have of this machine; 0 of a resource: all of it. `memory_margin_bytes`: how
        much other programs may use of its memory without jobs getting less; 0: a tenth."""
        self._memory_margin_bytes = memory_margin_bytes
        self._share = share
        self._price_micro_per_hour = price_micro_per_hour
        self.name = name
        self._folders = Folders(folder)
        self._node_name = node_name
        self._left = TaskFiles(self._folders)
        self.files = FileStore(self._folders)
        self._found = FoundGpus()
        self._line = KeeperLine(Launch(self._folders, keeper))

    async def open(self) -> None:
        self._folders.make()
        self.files.remove_halves()
        self._found = await asyncio.to_thread(find_gpus)
        self._line.gpu_ids = self._found.ids
        await self._line.open()

    async def close(self) -> None:
        await self._line.close()

    async def nodes(self) -> Sequence[Node]:
        node = await asyncio.to_thread(
            this_machine,
            self._node_name,
            self.name,
            self._folders.root,
            self._found.gpus,
            self._share,
            self._price_micro_per_hour,
            self._memory_margin_bytes,
            self._line.keeper,
        )
        return [node]

    async def node(self, name: NodeName) -> Node | None:
        return next((node for node in await self.nodes() if node.name == name), None)

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        expected = {ref for ref, _ in tasks}
        running = await self.running()
        unwanted = [ref for ref in running if ref not in expected]
        if unwanted:
            await self.stop(unwanted)
        return [ref for ref in running if ref in expected]

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        await self._line.start(tasks)

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        await self._line.stop(tasks)

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        await self._line.change_limit(task, time_limit_ms)

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        fed = await self._line.feed(task, piece)
        self._left.may_have_written(task.job)
        return fed

    async def running(self) -> Sequence[TaskRef]:
        return await self._line.running()

    def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        return self._line.reports()

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        await self._line.settle(tasks)

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        return self._left.logs(query, lambda: self._line.may_write(query.job))

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        return self._left.output(job, rank, path, epoch)

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return await self._left.sizes(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return await self._left.outputs(job, epoch)

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await self._left.forget(jobs)

    async def health(self) -> Health:
        return await health_of(self._line, self._found.trouble)


async def health_of(line: KeeperLine, lacking: str = "") -> Health:
    """`lacking`: what else there is to say of the machine."""
    try:
        description = await line.describe()
    except BackendUnavailable as error:
        return Health(False, str(error))
    wrong = list(description.wrong)
    return Health(not wrong, "; ".join(filter(None, [*wrong, *description.lacking, lacking])))
