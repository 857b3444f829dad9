"""This machine as a backend: talks to the keeper, and reads what it writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from rota.backends.backend import (
    BackendUnavailable,
    Health,
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
)
from rota.backends.process.files import FileStore
from rota.backends.process.folders import Folders
from rota.backends.process.frames import ChangeLimit, Describe, Description, Settle, Start, Stop
from rota.backends.process.keeper import IDLE_MS
from rota.backends.process.launch import launch
from rota.backends.process.left_behind import LeftBehind
from rota.backends.process.link import Link
from rota.backends.process.log_writer import DEFAULT_ROTATION, Rotation
from rota.backends.process.machine import ALL, find_gpus, this_machine
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus, Node
from rota.model.resources import Resources

_TASKS_A_FRAME = 500
_CONNECTS_WITHIN_S = 10.0
_LONGEST_PAUSE_S = 5.0


class ProcessBackend:
    """Implements Backend. What runs goes on when it is closed, or ends with its server."""

    def __init__(
        self,
        folder: Path,
        node_name: NodeName,
        *,
        name: str = "local",
        rotation: Rotation = DEFAULT_ROTATION,
        keeper_idle_ms: int = IDLE_MS,
        share: Resources = ALL,
        price_micro_per_hour: int = 0,
        is_leased: bool = False,
    ) -> None:
        """`share`: what jobs may have of this machine; 0 of a resource: all of it. `is_leased`: tasks run no
        longer than `lease.write_lease` says."""
        self._share = share
        self._price_micro_per_hour = price_micro_per_hour
        self.name = name
        self._folders = Folders(folder)
        self._node_name = node_name
        self._rotation = rotation
        self._keeper_idle_ms = keeper_idle_ms
        self._is_leased = is_leased
        self._left = LeftBehind(self._folders)
        self.files = FileStore(self._folders)
        self._gpus = Gpus()
        self._link: Link | None = None
        self._is_linked = asyncio.Event()
        self._failure = ""
        self._staying: asyncio.Task[None] | None = None
        self._reports: asyncio.Queue[Sequence[TaskReport]] = asyncio.Queue()
        self._unended: dict[TaskRef, None] = {}

    async def open(self) -> None:
        self._folders.make()
        self.files.remove_halves()
        self._gpus = await asyncio.to_thread(find_gpus)
        self._link = await self._connect()
        self._is_linked.set()
        for ref in await self.running():
            self._unended.setdefault(ref)
        self._staying = asyncio.create_task(self._stay_connected())

    async def close(self) -> None:
        if self._staying is not None:
            self._staying.cancel()
            with suppress(asyncio.CancelledError):
                await self._staying
        if self._link is not None:
            await self._link.close()

    async def nodes(self) -> Sequence[Node]:
        return [
            this_machine(
                self._node_name,
                self.name,
                self._folders.root,
                self._gpus,
                self._share,
                self._price_micro_per_hour,
            )
        ]

    async def node(self, name: NodeName) -> Node | None:
        return next((node for node in await self.nodes() if node.name == name), None)

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        expected = {ref for ref, _ in tasks}
        running = await self.running()
        unwanted = [ref for ref in running if ref not in expected]
        if unwanted:
            await self.stop(unwanted)
        return [ref for ref in running if ref in expected]

    async def start(self, tasks: Sequence[TaskStart], lease: int = 0) -> None:
        """`lease`: the number of that which they were sent under."""
        for task in tasks:
            self._unended.setdefault(task.ref)
        for at in range(0, len(tasks), _TASKS_A_FRAME):
            batch = tasks[at : at + _TASKS_A_FRAME]
            await (await self._linked()).call(partial(Start, tasks=batch, lease=lease))

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        await (await self._linked()).call(partial(Stop, refs=tasks))

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        link = await self._linked()
        await link.call(partial(ChangeLimit, ref=task, time_limit_ms=time_limit_ms))

    async def running(self) -> Sequence[TaskRef]:
        return (await self._describe()).unsettled

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        """All that have come meanwhile at once: whoever keeps them does so in one transaction."""
        while True:
            reports = list(await self._reports.get())
            while not self._reports.empty():
                reports.extend(self._reports.get_nowait())
            yield reports

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        await (await self._linked()).call(partial(Settle, refs=tasks))

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        return self._left.logs(query, lambda: any(ref.job == query.job for ref in self._unended))

    def output(self, job: JobId, rank: int, path: str) -> AsyncIterator[bytes]:
        return self._left.output(job, rank, path)

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await self._left.forget(jobs)

    async def health(self) -> Health:
        try:
            description = await self._describe()
        except BackendUnavailable as error:
            return Health(False, str(error))
        wrong = list(description.wrong)
        return Health(not wrong, "; ".join([*wrong, *description.lacking]))

    async def _describe(self) -> Description:
        answer = await (await self._linked()).call(Describe)
        assert isinstance(answer, Description)
        return answer

    async def _linked(self) -> Link:
        try:
            async with asyncio.timeout(_CONNECTS_WITHIN_S):
                await self._is_linked.wait()
        except TimeoutError:
            raise BackendUnavailable(
                self._failure or "not connected to the process that keeps tasks"
            ) from None
        assert self._link is not None
        return self._link

    async def _connect(self) -> Link:
        try:
            return await Link.open(self._folders, self._heard)
        except (ConnectionError, FileNotFoundError):
            await launch(self._folders, self._rotation, self._keeper_idle_ms, is_leased=self._is_leased)
        try:
            return await Link.open(self._folders, self._heard)
        except (ConnectionError, FileNotFoundError) as error:
            raise BackendUnavailable(f"no connection to the process that keeps tasks: {error}") from error

    async def _stay_connected(self) -> None:
        while self._link is not None:
            await self._link.lost()
            self._is_linked.clear()
            await self._link.close()
            pause_s = 0.05
            while not self._is_linked.is_set():
                try:
                    self._link = await self._connect()
                    self._is_linked.set()
                except BackendUnavailable as error:
                    self._failure = str(error)
                    await asyncio.sleep(pause_s)
                    pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    def _heard(self, reports: Sequence[TaskReport]) -> None:
        for report in reports:
            if isinstance(report, TaskEnded | TaskReturned):
                self._unended.pop(report.ref, None)
        self._reports.put_nowait(reports)
