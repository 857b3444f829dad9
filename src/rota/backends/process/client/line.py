"""The way to the keeper: kept up, with another keeper where one has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from rota.backends.backend import (
    BackendUnavailable,
    Fed,
    InputPiece,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
)
from rota.backends.process.client.gpus import with_names_of
from rota.backends.process.client.link import Link
from rota.backends.process.frames import (
    INPUT,
    ChangeLimit,
    Describe,
    Description,
    Feed,
    Settle,
    Start,
    Stop,
    Taken,
)
from rota.clock import now_ms
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId
from rota.patience.backoff import Backoff

_TASKS_A_FRAME = 500
_ASKED_AT_MOST = 3
_CONNECTS_WITHIN_S = 10.0
_PAUSES = Backoff(first_s=0.05, longest_s=5.0)

_OLD_KEEPER = (
    "the keeper of its machine is of an older Rota, which passes no input on; it is replaced once its tasks "
    "have ended"
)

OnReports = Callable[[Sequence[TaskReport]], None]
Connect = Callable[[OnReports], Awaitable[Link]]
"""To the keeper that is there, or to another one. Raises BackendUnavailable."""


class KeeperLine:
    """What tasks do goes on when it is closed."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._link: Link | None = None
        self._is_linked = asyncio.Event()
        self._failure = ""
        self._staying: asyncio.Task[None] | None = None
        self._reports: asyncio.Queue[Sequence[TaskReport]] = asyncio.Queue()
        self._unended: dict[TaskRef, None] = {}
        self.gpu_ids: Sequence[str] = ()
        """What CUDA calls the GPUs of this machine; empty: by their numbers."""

    @property
    def keeper(self) -> int | None:
        """Its process; None: there is no connection at the moment."""
        return None if self._link is None else self._link.pid

    async def open(self) -> None:
        self._link = await self._connect(self._heard)
        self._is_linked.set()
        # From now on: the keeper may be gone before it has answered its first question.
        self._staying = asyncio.create_task(self._stay_connected())
        try:
            for ref in await self.running():
                self._unended.setdefault(ref)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        if self._staying is not None:
            self._staying.cancel()
            with suppress(asyncio.CancelledError):
                await self._staying
        if self._link is not None:
            await self._link.close()

    async def start(self, tasks: Sequence[TaskStart], lease: int = 0) -> None:
        """`lease`: the number of that which they were sent under."""
        tasks = [with_names_of(self.gpu_ids, task) for task in tasks]
        for task in tasks:
            self._unended.setdefault(task.ref)
        if any(task.run.takes_input for task in tasks):
            tasks = self._that_can_be_fed(tasks, await self._linked())
        for at in range(0, len(tasks), _TASKS_A_FRAME):
            batch = tasks[at : at + _TASKS_A_FRAME]
            await (await self._linked()).call(partial(Start, tasks=batch, lease=lease))

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        await (await self._linked()).call(partial(Stop, refs=tasks))

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        link = await self._linked()
        await link.call(partial(ChangeLimit, ref=task, time_limit_ms=time_limit_ms))

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        link = await self._linked()
        if INPUT not in link.features:
            return Fed(0, is_open=False)
        answer = await link.call(partial(Feed, ref=task, piece=piece))
        assert isinstance(answer, Taken)
        return answer.fed

    def _that_can_be_fed(self, tasks: Sequence[TaskStart], link: Link) -> Sequence[TaskStart]:
        """A keeper of before would start the others with nothing to read, which looks like all is well."""
        if INPUT in link.features:
            return tasks
        end = TaskEnd(EndReason.NOT_STARTED, message=_OLD_KEEPER)
        self._heard([TaskEnded(task.ref, now_ms(), end) for task in tasks if task.run.takes_input])
        return [task for task in tasks if not task.run.takes_input]

    async def running(self) -> Sequence[TaskRef]:
        """All that isn't settled."""
        return (await self.describe()).unsettled

    def may_write(self, job: JobId) -> bool:
        """Whether a task of the job may still be running."""
        return any(ref.job == job for ref in self._unended)

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        """All that have come meanwhile at once: whoever keeps them does so in one transaction."""
        while True:
            reports = list(await self._reports.get())
            while not self._reports.empty():
                reports.extend(self._reports.get_nowait())
            yield reports

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        await (await self._linked()).call(partial(Settle, refs=tasks))

    async def describe(self) -> Description:
        """Asked again where a keeper ends before it has answered: the question changes nothing."""
        failures = 0
        while True:
            link = await self._linked()
            try:
                answer = await link.call(Describe)
            except BackendUnavailable:
                failures += 1
                if failures >= _ASKED_AT_MOST:
                    raise
                if self._link is link:
                    self._is_linked.clear()
            else:
                assert isinstance(answer, Description)
                return answer

    async def _linked(self) -> Link:
        try:
            async with asyncio.timeout(_CONNECTS_WITHIN_S):
                await self._is_linked.wait()
        except TimeoutError:
            raise BackendUnavailable(self._failure or "not connected to the keeper") from None
        assert self._link is not None
        return self._link

    async def _stay_connected(self) -> None:
        while self._link is not None:
            await self._link.lost()
            self._is_linked.clear()
            await self._link.close()
            failures = 0
            while not self._is_linked.is_set():
                try:
                    self._link = await self._connect(self._heard)
                    self._is_linked.set()
                except BackendUnavailable as error:
                    self._failure = str(error)
                    failures += 1
                    await asyncio.sleep(_PAUSES.pause_s(failures, chance=0.0))

    def _heard(self, reports: Sequence[TaskReport]) -> None:
        for report in reports:
            if isinstance(report, TaskEnded | TaskReturned):
                self._unended.pop(report.ref, None)
        self._reports.put_nowait(reports)
