"""Two hosts on a simulated network, with a process on each, for tests of what they say to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context
from random import Random

from rota.clock import SystemClock
from tests.faults.event_loop import Life, VirtualLoop, context_of
from tests.faults.network import Conditions, Network
from tests.faults.sockets import Host


class Two:
    def __init__(self, seed: int, conditions: Conditions | None = None) -> None:
        self.loop = VirtualLoop(Random(f"{seed} order"), lambda: 0.0)
        self.network = Network(self.loop, Random(f"{seed} network"))
        if conditions is not None:
            self.network.conditions = conditions
        hosts: dict[str, Host] = {}
        self.here, self.there = Host("here", self.network, hosts), Host("there", self.network, hosts)
        self.lives = {name: Life(name, SystemClock()) for name in hosts}

    def context(self, host: Host) -> Context:
        return context_of(self.lives[host.name])

    def kill(self, host: Host) -> None:
        life = self.lives[host.name]
        life.is_over = True
        host.end_process(life)

    def run(self, test: Callable[[], Awaitable[None]]) -> None:
        """As the process that is here."""

        async def all_of_it() -> None:
            await self.loop.create_task(_coroutine(test), context=self.context(self.here))

        try:
            self.loop.run_until_complete(all_of_it())
            assert self.loop.exceptions == []
        finally:
            self.loop.lay_to_rest()


async def _coroutine(test: Callable[[], Awaitable[None]]) -> None:
    await test()
