"""Who is at work: takes the server's orders, one after the other, and sees that each task is performed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import grpc
import structlog

from rota.agent.kept import Kept
from rota.agent.performance import Performance, Revoked, Turn
from rota.agent.rest import Rest
from rota.agent.session import Session
from rota.backends.agents.messages import ref_from
from rota.backends.backend import BackendUnavailable, TaskRef
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.client.task_files import TaskFiles
from rota.backends.process.folders import Folders
from rota.model.ids import JobId, NodeName
from rota.wire import agents_pb2 as wire

if TYPE_CHECKING:
    from rota.wire.agents_pb2_grpc import AgentsAsyncStub

log = structlog.get_logger()

_AGAIN_S = 1.0

Order: TypeAlias = wire.AgentOrders | Sequence[TaskRef]
"""Of the server; or, at first, what it was told that is here."""


class Crew:
    def __init__(
        self,
        keeper: KeeperLine,
        folders: Folders,
        node: NodeName,
        stub_of: Callable[[str], AgentsAsyncStub],
        rest: Rest,
    ) -> None:
        """`stub_of`: for calls of the server that was dialled there."""
        self._keeper = keeper
        self._folders = folders
        self._left = TaskFiles(folders)
        self._node = node
        self._stub_of = stub_of
        self._rest = rest
        self._kept: dict[TaskRef, Kept] = {}
        self._session: Session | None = None
        self._orders: asyncio.Queue[tuple[Session, Order]] = asyncio.Queue()
        self._performing: dict[TaskRef, asyncio.Task[None]] = {}
        self._lanes: dict[str, Turn] = {}
        self.tell_forgotten: Callable[[Sequence[TaskRef]], None] = lambda _: None
        """Called with tasks once they are settled: the server repeats its order until it hears of it."""
        self.is_draining = False
        self.changed = asyncio.Event()
        """Something may have ended."""

    # -- for the attendance

    async def has(self) -> Sequence[TaskRef]:
        """All tasks that aren't settled. Starts that haven't reached the keeper yet are dropped first."""
        await self._stop_performing()
        return await self._keeper.running()

    def begins(self, session: Session, kept: Sequence[TaskRef]) -> None:
        self._orders.put_nowait((session, kept))

    def ordered(self, session: Session, order: wire.AgentOrders) -> None:
        self._orders.put_nowait((session, order))

    def ends(self, session: Session) -> None:
        if self._session is session:
            self._session = None
            for task in self._performing.values():
                task.cancel()

    # -- for the agent

    @property
    def is_idle(self) -> bool:
        """Nothing is left that the server waits for."""
        return not self._kept and not self._performing

    @property
    def rest_url(self) -> str:
        """Of the server that it works for; empty: none, at the moment."""
        return "" if self._session is None else self._session.rest_url

    def files(self) -> frozenset[str]:
        """Those that tasks here still need, by hash."""
        return frozenset().union(*(kept.files for kept in self._kept.values()))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_keeper())
            group.create_task(self._follow_orders())

    async def close(self) -> None:
        await self._stop_performing()

    async def _stop_performing(self) -> None:
        performing = list(self._performing.values())
        for task in performing:
            task.cancel()
        await asyncio.gather(*performing, return_exceptions=True)

    async def _follow_keeper(self) -> None:
        async for reports in self._keeper.reports():
            for report in reports:
                self._kept.setdefault(report.ref, Kept(report.ref)).takes(report)

    async def _follow_orders(self) -> None:
        while True:
            session, order = await self._orders.get()
            if not session.is_open:
                continue
            try:
                if not isinstance(order, wire.AgentOrders):
                    await self._begin(session, order)
                elif order.WhichOneof("order") == "settle":
                    await self._settle([ref_from(ref) for ref in order.settle.refs])
                elif order.WhichOneof("order") == "offer":
                    for offered in order.offer.tasks:
                        self._perform(session, ref_from(offered.ref), offered.lane, is_kept=False)
            except BackendUnavailable as error:
                # The server says it again on the next connection.
                log.error("keeper.unreachable", why=str(error))

    async def _begin(self, session: Session, kept: Sequence[TaskRef]) -> None:
        await self._stop_performing()
        self._session = session
        self._lanes.clear()
        for ref in [ref for ref in self._kept if ref not in kept]:
            del self._kept[ref]
        for ref in kept:
            self._perform(session, ref, "", is_kept=True)
        self.changed.set()

    def _perform(self, session: Session, ref: TaskRef, lane: str, *, is_kept: bool) -> None:
        if ref in self._performing:
            return
        turn = Turn(self._lanes.get(lane))
        if lane:
            self._lanes[lane] = turn
        kept = self._kept.setdefault(ref, Kept(ref))
        task = asyncio.create_task(self._see_through(session, kept, turn, is_kept))
        self._performing[ref] = task
        task.add_done_callback(lambda done: self._performed(ref, done))

    def _performed(self, ref: TaskRef, done: asyncio.Task[None]) -> None:
        if self._performing.get(ref) is done:
            del self._performing[ref]
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("task.failed_in_agent", task=ref, why=repr(error), exc_info=error)
        self.changed.set()

    async def _see_through(self, session: Session, kept: Kept, turn: Turn, is_kept: bool) -> None:
        """Streams that break are opened again, as long as the session lasts."""
        declines = self.is_draining and not is_kept
        is_first = True
        while session.is_open:
            try:
                if not is_first:
                    is_kept = kept.ref in await self._keeper.running()
                is_first = False
                stub = self._stub_of(session.target)
                performance = Performance(
                    session, kept, stub, self._keeper, self._folders, self._rest, self._node
                )
                await performance.run(is_kept=is_kept, turn=turn, declines=declines)
                return
            except Revoked:
                await self._drop(kept)
                return
            except (grpc.RpcError, asyncio.InvalidStateError) as error:
                # The latter, if it was over before the next word was said.
                # Nothing is lost by it. What gRPC says of it is for those who look for its cause.
                log.info("task.stream_lost", task=kept.ref)
                log.debug("task.stream_lost", task=kept.ref, why=str(error)[:300])
            except BackendUnavailable as error:
                log.error("keeper.unreachable", why=str(error))
            await asyncio.sleep(_AGAIN_S)

    async def _drop(self, kept: Kept) -> None:
        """The server doesn't want this task any more: it is stopped without a report."""
        if kept.ref in await self._keeper.running():
            await self._keeper.stop([kept.ref])
            while kept.over is None:
                kept.news.clear()
                await kept.news.wait()
            await self._keeper.settle([kept.ref])
        await self._forget([kept.ref])

    async def _settle(self, refs: Sequence[TaskRef]) -> None:
        await self._keeper.settle(refs)
        for ref in refs:
            if (performing := self._performing.get(ref)) is not None:
                performing.cancel()
        await self._forget(refs)
        self.tell_forgotten(refs)

    async def _forget(self, refs: Sequence[TaskRef]) -> None:
        """All that its tasks wrote and left is at the server, or of no use."""
        for ref in refs:
            self._kept.pop(ref, None)
        jobs = {ref.job for ref in refs} - {ref.job for ref in self._kept}
        await self._left.forget(sorted(jobs))
        self.changed.set()


async def sweep(keeper: KeeperLine, folders: Folders) -> None:
    """Removes files of tasks that were settled while no agent ran to clean up."""
    wanted = {ref.job for ref in await keeper.running()}
    found = {JobId(path.name) for path in (*folders.logs.iterdir(), *folders.outputs.iterdir())}
    await TaskFiles(folders).forget(sorted(found - wanted))
