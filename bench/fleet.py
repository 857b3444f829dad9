"""Agents by the thousand: one process that speaks for all of them what real agents say, each over connections
of its own. Their tasks begin at once, and last as long as they are told to.

What is between an agent and its keeper, disk and processes isn't here: what is measured is the server.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
from msgspec import Struct

from rota.agent.dialling import CHANNEL_OPTIONS
from rota.backends.agents.messages import PROTOCOL
from rota.trust.local_socket import LocalSocket
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub

_AT_ONCE = 50
"""So many agents of one process say hello at a time: all of them at once isn't what is measured."""
_LONGEST_PAUSE_S = 2.0
_BROKEN = (grpc.RpcError, asyncio.InvalidStateError)
"""What streams raise that have ended, or end."""


class Standing(Struct, frozen=True):
    welcome: int
    """So many agents are connected, and were welcomed."""
    tasks: int
    """So many are being performed."""


class Start(Struct, frozen=True):
    """Times are those of `time.monotonic`, which all processes of a machine share."""

    job: str
    agent: str
    at_s: float


class Fleet:
    """The process, as others see it."""

    def __init__(self, target: str, prefix: str, count: int, *, cpus: int, tasks_last_s: float = inf) -> None:
        """`tasks_last_s`: at most; unless they are told to stop before."""
        self.names = [f"{prefix}{number}" for number in range(count)]
        context = get_context("spawn")
        self._line, theirs = context.Pipe()
        about = (target, self.names, cpus, tasks_last_s, theirs)
        self._process = context.Process(target=_speak, args=about, daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()

    def standing(self) -> Standing:
        return self._ask("standing")  # type: ignore[no-any-return]

    def starts(self) -> list[Start]:
        """Since the last time that this was asked for."""
        return self._ask("starts")  # type: ignore[no-any-return]

    def welcomes_s(self) -> list[float]:
        """When agents were welcomed, since the last time that this was asked for."""
        return self._ask("welcomes")  # type: ignore[no-any-return]

    def vanish(self, name: str, *, is_frozen: bool) -> None:
        """Frozen: its connections stay, and it says nothing any more."""
        self._ask("vanish", name, is_frozen)

    def _ask(self, *question: object) -> Any:
        self._line.send(question)
        return self._line.recv()


def _speak(target: str, names: Iterable[str], cpus: int, tasks_last_s: float, line: Connection) -> None:
    with suppress(KeyboardInterrupt, EOFError):
        asyncio.run(_Crowd(target, names, cpus, tasks_last_s).live(line))


class _Crowd:
    def __init__(self, target: str, names: Iterable[str], cpus: int, tasks_last_s: float) -> None:
        self.socket = LocalSocket(Path(target.removeprefix("unix:")))
        self.tasks_last_s = tasks_last_s
        self.starts: list[Start] = []
        self.welcomes_s: list[float] = []
        at_once = asyncio.Semaphore(_AT_ONCE)
        self._agents = {name: _Agent(name, cpus, self, at_once) for name in names}

    async def live(self, line: Connection) -> None:
        staying = [asyncio.create_task(agent.stay()) for agent in self._agents.values()]
        while True:
            question, *about = await asyncio.to_thread(line.recv)
            line.send(getattr(self, f"_{question}")(*about))
            assert not any(task.done() and task.exception() for task in staying)

    def _standing(self) -> Standing:
        agents = self._agents.values()
        return Standing(sum(agent.is_welcome for agent in agents), sum(len(agent.tasks) for agent in agents))

    def _starts(self) -> list[Start]:
        starts, self.starts = self.starts, []
        return starts

    def _welcomes(self) -> list[float]:
        welcomes_s, self.welcomes_s = self.welcomes_s, []
        return welcomes_s

    def _vanish(self, name: str, is_frozen: bool) -> None:
        self._agents[name].vanish(is_frozen)


class _Agent:
    def __init__(self, name: str, cpus: int, crowd: _Crowd, at_once: asyncio.Semaphore) -> None:
        self._name = name
        self._cpus = cpus
        self._crowd = crowd
        self._at_once = at_once
        self.is_welcome = False
        self.tasks: dict[tuple[str, int, int], asyncio.Task[None]] = {}
        self._is_silent = False
        self._staying: asyncio.Task[None] | None = None

    def vanish(self, is_frozen: bool) -> None:
        self._is_silent = True
        if not is_frozen and self._staying is not None:
            self._staying.cancel()

    async def stay(self) -> None:
        self._staying = asyncio.current_task()
        with suppress(asyncio.CancelledError):
            while not self._is_silent:
                with suppress(*_BROKEN, _Over):
                    await self._attend()
                self.is_welcome = False
                await asyncio.sleep(random.uniform(0.1, _LONGEST_PAUSE_S))

    async def _attend(self) -> None:
        # As real agents do: what is said of tasks has a connection of its own, made when it is needed.
        target = self._crowd.socket.target
        async with (
            grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS) as channel,
            grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS) as other,
        ):
            performing = AgentsStub(other)
            beating: asyncio.Task[None] | None = None
            try:
                async with self._at_once:
                    call: Any = AgentsStub(channel).Attend()
                    await call.write(self._hello())
                    welcome = (await _read(call)).welcome
                self.is_welcome = True
                self._crowd.welcomes_s.append(time.monotonic())
                for task in list(self.tasks):
                    self._perform(performing, welcome.session, task, is_kept=True)
                beating = asyncio.create_task(self._beat(call, welcome.heartbeat_ms / 1000))
                while True:
                    order = await _read(call)
                    if self._is_silent:
                        continue
                    match order.WhichOneof("order"):
                        case "offer":
                            for offered in order.offer.tasks:
                                ref = (offered.ref.job, offered.ref.rank, offered.ref.fence)
                                self._perform(performing, welcome.session, ref, is_kept=False)
                        case "settle":
                            await call.write(wire.AgentNews(settled=wire.Settled(refs=order.settle.refs)))
            finally:
                for one in (beating, *self.tasks.values()):
                    if one is not None:
                        one.cancel()

    def _hello(self) -> wire.AgentNews:
        refs = [wire.TaskRef(job=job, rank=rank, fence=fence) for job, rank, fence in self.tasks]
        hello = wire.Hello(
            protocol=PROTOCOL,
            version="bench",
            name=self._name,
            instance=self._name,
            node=self._node(),
            tasks=refs,
            clock_ms=_now_ms(),
        )
        return wire.AgentNews(hello=hello)

    def _node(self) -> wire.Node:
        capacity = wire.Resources(
            cpu_milli=1000 * self._cpus, memory_bytes=64 << 30, storage_bytes=1 << 40, slots=1_000
        )
        labels = {"arch": "x86_64", "os": "linux"}
        return wire.Node(capacity=capacity, labels=labels, load_milli=random.randrange(1000))

    async def _beat(self, call: Any, each_s: float) -> None:
        with suppress(*_BROKEN):
            number = 1
            while not self._is_silent:
                heartbeat = wire.Heartbeat(
                    number=number, node=self._node(), clock_ms=_now_ms(), round_trip_ms=1
                )
                await call.write(wire.AgentNews(heartbeat=heartbeat))
                # They came all at once, but not because agents do.
                await asyncio.sleep(random.uniform(0, each_s) if number == 1 else each_s)
                number += 1

    def _perform(self, stub: Any, session: str, ref: tuple[str, int, int], *, is_kept: bool) -> None:
        self.tasks[ref] = asyncio.create_task(self._see_through(stub, session, ref, is_kept=is_kept))

    async def _see_through(
        self, stub: Any, session: str, ref: tuple[str, int, int], *, is_kept: bool
    ) -> None:
        """Until the server has kept its end, or doesn't want it. Streams that break are opened again."""
        is_begun = is_kept
        while True:
            try:
                async for _ in self._stages(stub.Perform(), session, ref, is_kept=is_begun):
                    is_begun = True
                break
            except _Over:
                break
            except _BROKEN:
                await asyncio.sleep(random.uniform(0.5, 1.5))
            except asyncio.CancelledError:
                if is_begun:
                    raise
                break
        self.tasks.pop(ref, None)

    async def _stages(
        self, call: Any, session: str, ref: tuple[str, int, int], *, is_kept: bool
    ) -> AsyncIterator[None]:
        job, rank, fence = ref
        opening = wire.Opening(
            session=session, ref=wire.TaskRef(job=job, rank=rank, fence=fence), kept=is_kept
        )
        await call.write(wire.TaskNews(opening=opening))
        if (await _read(call)).WhichOneof("order") != "accepted":
            return
        yield
        if not is_kept:
            self._crowd.starts.append(Start(job, self._name, time.monotonic()))
        await call.write(wire.TaskNews(started=wire.Started(at_ms=_now_ms())))
        ending = asyncio.create_task(self._end_in_time(call))
        try:
            while (await _read(call)).WhichOneof("order") != "stop" or self._is_silent:
                pass
            await call.write(wire.TaskNews(ended=wire.Ended(at_ms=_now_ms(), reason="stopped")))
            while True:
                await _read(call)
        finally:
            ending.cancel()

    async def _end_in_time(self, call: Any) -> None:
        if self._crowd.tasks_last_s < inf:
            await asyncio.sleep(random.uniform(0, self._crowd.tasks_last_s))
            with suppress(*_BROKEN):
                ended = wire.Ended(at_ms=_now_ms(), reason="exited", exit_code=0)
                await call.write(wire.TaskNews(ended=ended))


class _Over(Exception):
    """The server has ended a stream, and all is well."""


async def _read(call: Any) -> Any:
    message = await call.read()
    if message is grpc.aio.EOF:
        raise _Over
    return message


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
