"""The production agent, as a process of a simulated machine: its crew, its presence, its way to the keeper;
over a simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import grpc
import structlog

from rota.agent.attendance import REFUSALS
from rota.agent.crew import Crew, sweep
from rota.agent.dialling import DialResult, Itinerary
from rota.agent.http import Refused
from rota.agent.lease import LeaseHolder
from rota.agent.presence import Agent, Presence
from rota.agent.rest import Rest
from rota.agent.session import Session
from rota.backends.agents.messages import refs_to
from rota.backends.backend import TaskRef, TaskReport
from rota.backends.process.client.files import FileStore
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.client.link import Link
from rota.backends.process.folders import Folders
from rota.model.node import Node
from rota.wire import agents_pb2 as wire
from tests.faults.event_loop import OUTSIDE, Life, VirtualLoop, context_of
from tests.faults.keeper import Line
from tests.faults.rpc import Call, Channel
from tests.faults.services import AGENTS, ATTEND, PERFORM, REST, RESULT, PutResult

if TYPE_CHECKING:
    from rota.wire.agents_pb2_grpc import AgentsAsyncStub
    from tests.faults.machine import Machine

log = structlog.get_logger()

ANSWERS_WITHIN_S = 6.0
"""Requests of REST."""


class AgentProcess:
    def __init__(
        self, life: Life, machine: Machine, loop: VirtualLoop, folders: Folders, servers: Sequence[str]
    ) -> None:
        self.life = life
        self._machine = machine
        self._folders = folders
        self._servers = servers
        self._lines: list[Line] = []
        self._channels: dict[str, Channel] = {}
        self._said: asyncio.Queue[wire.AgentNews | None] | None = None
        working = loop.create_task(self._work(), context=context_of(life))
        working.add_done_callback(self._ended, context=OUTSIDE)

    def kill(self) -> None:
        self.life.is_over = True
        for line in self._lines:
            line.close()

    def _ended(self, working: asyncio.Task[None]) -> None:
        if not self.life.is_over and not working.cancelled():
            self._machine.agent_failed(self, working.exception())

    async def _work(self) -> None:
        """As `rota.agent.run` does it."""
        machine, folders = self._machine, self._folders
        folders.make()
        files = FileStore(folders)
        keeper = KeeperLine(self._connect)
        await keeper.open()
        requests = Requests(lambda server: self._channel(server, REST))
        crew = Crew(
            keeper, folders, machine.node.name, self._stub, Rest(requests, files, machine.chance.random)
        )
        crew.tell_forgotten = self._forgotten
        await sweep(keeper, folders)
        agent = Agent(machine.node.name, machine.instance, Looks(machine.node), LeaseHolder(folders.lease))
        async with asyncio.TaskGroup() as working:
            working.create_task(crew.run())
            working.create_task(self._stay(agent, crew))

    async def _connect(self, on_reports: Callable[[Sequence[TaskReport]], None]) -> Link:
        line = self._machine.line_to_keeper()
        self._lines.append(line)
        return await line.link(on_reports)

    def _channel(self, server: str, port: str) -> Channel:
        key = f"{server}:{port}"
        if key not in self._channels:
            self._channels[key] = Channel(self._machine.host, server, port)
        return self._channels[key]

    def _stub(self, server: str) -> AgentsAsyncStub:
        return cast("AgentsAsyncStub", Stub(self._channel(server, AGENTS)))

    def _forgotten(self, refs: Sequence[TaskRef]) -> None:
        if self._said is not None:
            self._said.put_nowait(wire.AgentNews(settled=wire.Settled(refs=refs_to(refs))))

    # -- as `rota.agent.attendance` does it in a thread

    async def _stay(self, agent: Agent, crew: Crew) -> None:
        itinerary = Itinerary(self._servers)
        while True:
            outcome, server = DialResult.AWAY, itinerary.target
            try:
                outcome = await self._attend(server, agent, crew)
            except grpc.aio.AioRpcError as error:
                if error.code() in REFUSALS:
                    outcome = DialResult.REFUSED
            await asyncio.sleep(itinerary.after(outcome, self._machine.chance.random()))

    async def _attend(self, server: str, agent: Agent, crew: Crew) -> DialResult:
        presence = Presence(agent, server, await crew.has(), crew)
        channel = Channel(self._machine.host, server, AGENTS)
        call = channel.begin(ATTEND)
        said = self._said = asyncio.Queue[wire.AgentNews | None]()
        speaking = asyncio.create_task(_speak(call, presence, said))
        try:
            async for order in call:
                presence.hears(order)
                said.put_nowait(None)
        except grpc.aio.AioRpcError:
            if not presence.was_welcome:
                raise
        except asyncio.CancelledError:
            # Of the call, which was cut after silence.
            if not speaking.done():
                raise
        finally:
            self._said = None
            was_silent = speaking.done() and not speaking.cancelled()
            speaking.cancel()
            call.cancel()
            channel.close()
            presence.ends()
        return DialResult.WELCOME if presence.was_welcome and not was_silent else DialResult.AWAY


async def _speak(
    call: Call[wire.AgentNews, wire.AgentOrders],
    presence: Presence,
    said: asyncio.Queue[wire.AgentNews | None],
) -> None:
    """Until nothing comes any more, or nobody listens."""
    with suppress(grpc.RpcError, asyncio.InvalidStateError):
        await call.write(presence.hello())
        while not presence.is_silent():
            if (heartbeat := presence.heartbeat_if_due()) is not None:
                await call.write(heartbeat)
            with suppress(TimeoutError):
                async with asyncio.timeout(presence.wait_ms() / 1000):
                    if (news := await said.get()) is not None:
                        await call.write(news)
    call.cancel()


class Looks:
    """Implements rota.agent.presence.Looks."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def look(self) -> Node:
        return self._node


class Stub:
    """As much of `AgentsAsyncStub` as a crew uses."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def Perform(self) -> Call[wire.TaskNews, wire.TaskOrders]:  # noqa: N802 – the name in the .proto
        return self._channel.begin(PERFORM)


class Requests:
    """Implements rota.agent.rest.Requests: a call each."""

    def __init__(self, channel_to: Callable[[str], Channel]) -> None:
        self._channel_to = channel_to

    async def put_result(self, session: Session, ref: TaskRef, result: Mapping[str, object]) -> None:
        call = self._channel_to(session.target).begin(RESULT)
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                await call.write(PutResult(session.secret, ref, dict(result)))
                await call.read()
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                raise ConnectionResetError(error.details()) from None
            raise Refused(error.details()) from None
        except asyncio.InvalidStateError as error:
            raise ConnectionResetError(str(error)) from None
        finally:
            call.cancel()

    async def put_output(self, session: Session, ref: TaskRef, name: str, path: Path) -> None:
        raise Refused("simulated tasks leave no files")

    def file(self, session: Session, sha256: str) -> AsyncIterator[bytes]:
        raise Refused("simulated tasks need no files")
