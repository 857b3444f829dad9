"""An agent in the test's hands: says whatever it is told to, true or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from rota.backends.agents.messages import PROTOCOL, ref_to
from rota.backends.backend import TaskRef
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub
from tests.backends.witness import PATIENCE_S

_ANSWER = 0


def hello(name: str = "liar", *tasks: TaskRef, **fields: Any) -> wire.Hello:
    """One that is believed, but for `fields`."""
    believed: dict[str, Any] = {
        "protocol": PROTOCOL,
        "version": "1",
        "name": name,
        "instance": f"of {name}",
        "node": node(),
        "tasks": [ref_to(task) for task in tasks],
        "clock_ms": 1,
    }
    return wire.Hello(**(believed | fields))


def node(**capacity: int) -> wire.Node:
    amounts: dict[str, Any] = {
        "cpu_milli": 1000,
        "memory_bytes": 1 << 30,
        "storage_bytes": 1 << 30,
        "slots": 10,
    }
    return wire.Node(capacity=wire.Resources(**(amounts | capacity)))


class Caller:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub: Any = AgentsStub(channel)
        self.session = ""
        self._early: dict[Any, list[wire.AgentOrders]] = {}
        """What was said before it was known that the welcome is answered."""

    async def attend(self, said: wire.Hello) -> Any:
        """The call, after its welcome was answered, as agents do at once. Raises grpc.aio.AioRpcError."""
        call = self._stub.Attend()
        await call.write(wire.AgentNews(hello=said))
        order = await self.hear(call)
        self.session = order.welcome.session
        answer = wire.Heartbeat(number=_ANSWER, node=said.node, clock_ms=said.clock_ms)
        await call.write(wire.AgentNews(heartbeat=answer))
        early = []
        while not _is_known(order := await self.hear(call)):
            early.append(order)
        self._early[call] = early
        return call

    async def perform(self, ref: TaskRef, *, kept: bool = True, session: str | None = None) -> Any:
        """The call, and what was answered first; None: it was refused."""
        call = self._stub.Perform()
        secret = self.session if session is None else session
        await call.write(wire.TaskNews(opening=wire.Opening(session=secret, ref=ref_to(ref), kept=kept)))
        try:
            return call, await self.hear(call)
        except grpc.aio.AioRpcError:
            return call, None

    async def hear(self, call: Any) -> Any:
        if early := self._early.get(call):
            return early.pop(0)
        async with asyncio.timeout(PATIENCE_S):
            return await call.read()

    async def refused(self, call: Any) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(PATIENCE_S):
            return await call.code(), await call.details()


def _is_known(heard: wire.AgentOrders) -> bool:
    """The answer to the welcome is."""
    return heard.HasField("acknowledged") and heard.acknowledged.number == _ANSWER


@asynccontextmanager
async def calling(target: str) -> AsyncIterator[Caller]:
    async with grpc.aio.insecure_channel(target) as channel:
        yield Caller(channel)
