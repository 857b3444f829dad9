"""One task on its way: from the server's word to the keeper, and its stages and output back.

Opening ──► Accepted ──► input files ──► keeper ──► Started ──► Output … ──► result (REST) ──► Ended
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import grpc
import structlog

from rota.agent.http import Refused
from rota.agent.kept import Kept
from rota.agent.output import OutputReader
from rota.agent.rest import Rest
from rota.agent.session import Session
from rota.backends.agents.messages import input_from, ref_to, report_to, start_from
from rota.backends.backend import BackendUnavailable, TaskEnded, TaskStart
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.folders import Folders
from rota.backends.process.segments import Origin
from rota.clock import now_ms
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import NodeName
from rota.patience.backoff import Backoff
from rota.wire import agents_pb2 as wire

if TYPE_CHECKING:
    from aiohttp import ClientError
    from grpc.aio import StreamStreamCall

    from rota.wire.agents_pb2_grpc import AgentsAsyncStub

    Call = StreamStreamCall[wire.TaskNews, wire.TaskOrders]
else:
    from aiohttp import ClientError

log = structlog.get_logger()

_LOOKS = Backoff(first_s=0.02, longest_s=1.0)
_LEAVING = TaskEnd(EndReason.LOST, message="its agent is leaving, and starts nothing any more")


class Revoked(Exception):
    """The server doesn't want the task."""


class Performance:
    """For one session. It ends when the server has committed the end of the task, or with the stream."""

    def __init__(
        self,
        session: Session,
        kept: Kept,
        stub: AgentsAsyncStub,
        keeper: KeeperLine,
        folders: Folders,
        rest: Rest,
        node: NodeName,
    ) -> None:
        self._session = session
        self._kept = kept
        self._ref = kept.ref
        self._stub = stub
        self._keeper = keeper
        self._folders = folders
        self._rest = rest
        self._node = node
        self._is_at_keeper = asyncio.Event()
        self._speaking = asyncio.Lock()
        """One word at a time: a stream takes no second one meanwhile."""
        self._feeding: set[asyncio.Task[None]] = set()

    async def run(self, *, is_kept: bool, turn: Turn, declines: bool = False) -> None:
        """`turn`: when it may be handed to the keeper. Raises grpc.RpcError, and Revoked."""
        call: Call = self._stub.Perform()
        try:
            opening = wire.Opening(session=self._session.secret, ref=ref_to(self._ref), kept=is_kept)
            await call.write(wire.TaskNews(opening=opening))
            accepted = await _read(call)
            if accepted is None or accepted.WhichOneof("order") != "accepted":
                raise Revoked
            if is_kept:
                self._is_at_keeper.set()
            elif declines:
                await call.write(report_to(TaskEnded(self._ref, now_ms(), _LEAVING)))
                await self._obey(call)
                return
            else:
                await self._hand_over(start_from(accepted.accepted.start, self._node), turn)
            await self._converse(call, accepted.accepted.output_bytes)
        finally:
            turn.is_over.set()
            call.cancel()

    async def _hand_over(self, start: TaskStart, turn: Turn) -> None:
        self._kept.files = frozenset(file.sha256 for file in start.run.files)
        for file in start.run.files:
            await self._rest.fetch(self._session, file)
        await turn.comes()
        await self._keeper.start([start], lease=self._session.lease)
        self._is_at_keeper.set()
        turn.is_over.set()

    async def _converse(self, call: Call, output_bytes: int) -> None:
        telling = asyncio.create_task(self._tell(call, output_bytes))
        try:
            await self._obey(call)
        finally:
            for task in (telling, *self._feeding):
                task.cancel()
                with suppress(asyncio.CancelledError, grpc.RpcError, asyncio.InvalidStateError):
                    await task

    async def _obey(self, call: Call) -> None:
        while (order := await _read(call)) is not None:
            await self._is_at_keeper.wait()
            match order.WhichOneof("order"):
                case "stop":
                    await self._keeper.stop([self._ref])
                case "change_limit":
                    await self._keeper.change_limit(self._ref, order.change_limit.time_limit_ms)
                case "input":
                    # Beside the rest: it waits for the task to read, which an order to stop mustn't. The
                    # keeper answers it when the next one comes.
                    feeding = asyncio.create_task(self._feed(call, order.input))
                    self._feeding.add(feeding)
                    feeding.add_done_callback(self._feeding.discard)
                case "revoke":
                    raise Revoked

    async def _feed(self, call: Call, message: wire.Input) -> None:
        try:
            fed = await self._keeper.feed(self._ref, input_from(message))
        except BackendUnavailable as error:
            # Without an answer, its sender tries again.
            log.error("keeper.unreachable", why=str(error))
            return
        taken = wire.InputTaken(number=message.number, taken_bytes=fed.taken_bytes, closed=not fed.is_open)
        await self._say(call, wire.TaskNews(input_taken=taken))
        self._kept.news.set()

    async def _say(self, call: Call, news: wire.TaskNews) -> None:
        async with self._speaking:
            await call.write(news)

    async def _tell(self, call: Call, output_bytes: int) -> None:
        """As fast as the server takes it: what it doesn't take waits in the keeper's files."""
        reader = OutputReader(
            self._folders.logs_of(self._ref.job), Origin(self._ref.rank, self._ref.fence), output_bytes
        )
        kept, is_started, in_vain = self._kept, False, 0
        while True:
            kept.news.clear()
            # Asked before it is read: all that was written before the end is read after it.
            over = kept.over
            if kept.started is not None and not is_started:
                await self._say(call, report_to(kept.started))
                is_started = True
            while output := await asyncio.to_thread(reader.read):
                await self._say(call, wire.TaskNews(output=output))
                in_vain = 0
            if over is not None:
                break
            in_vain += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOKS.pause_s(in_vain, chance=0.0)):
                    await kept.news.wait()
                    in_vain = 0
        if isinstance(over, TaskEnded):
            await self._deliver(over, reader.passed_bytes)
        await self._say(call, report_to(over))

    async def _deliver(self, ended: TaskEnded, output_bytes: int) -> None:
        outputs = self._folders.outputs_left_by(self._ref)
        try:
            await self._rest.deliver(self._session, self._kept.started, ended, outputs, output_bytes)
        except (Refused, ClientError, TimeoutError, OSError) as error:
            # How it ended is said here, too; only its outputs may be missing.
            log.warning("task.result_undelivered", task=self._ref, why=str(error))


class Turn:
    """Tasks of one lane are handed to the keeper in the order in which they were offered."""

    def __init__(self, before: Turn | None = None) -> None:
        self._before = before
        self.is_over = asyncio.Event()

    async def comes(self) -> None:
        if self._before is not None:
            await self._before.is_over.wait()
            self._before = None


async def _read(call: Call) -> wire.TaskOrders | None:
    """None: the server has ended the stream, as it does when all is well."""
    order = await call.read()
    return order if isinstance(order, wire.TaskOrders) else None
