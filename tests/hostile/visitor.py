"""An agent that is let in, and then does nothing but ask: by its session, the fuzzer gets past the door."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import grpc

from rota.wire import agents_pb2 as wire
from tests.hostile.guests import Guests
from tests.real.agents.caller import Caller, calling, hello, node

BEAT_S = 2.0
_NODE = node(cpu_milli=10, memory_bytes=1 << 24, slots=1)
"""Small: one task at a time may wait here in vain."""


class Visitor:
    """In a thread of its own. It comes again when it is sent away."""

    def __init__(self, target: str, guests: Guests) -> None:
        self._target = target
        self._guests = guests
        self._loop = asyncio.new_event_loop()
        self._done = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._stay(),))

    def __enter__(self) -> Visitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()
        self._loop.close()

    async def _stay(self) -> None:
        while not self._done.is_set():
            with suppress(grpc.aio.AioRpcError, TimeoutError):
                async with calling(self._target) as caller:
                    await self._attend(caller)
            await asyncio.sleep(0.1)

    async def _attend(self, caller: Caller) -> None:
        call = await caller.attend(hello("visitor", node=_NODE))
        self._guests.agent = caller.session
        hearing = asyncio.create_task(self._hear(caller, call))
        try:
            number = 0
            while not self._done.is_set() and not hearing.done():
                number += 1
                await call.write(wire.AgentNews(heartbeat=wire.Heartbeat(number=number, node=_NODE)))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._done.wait(), BEAT_S)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            call.cancel()

    async def _hear(self, caller: Caller, call: object) -> None:
        while (order := await caller.hear(call)) is not grpc.aio.EOF:
            if order.HasField("offer"):
                for offered in order.offer.tasks:
                    self._guests.task = (offered.ref.job, offered.ref.rank, offered.ref.fence)
