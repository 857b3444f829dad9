"""A controller, started by a supervisor: the production client as a process, and the ledger that stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, cast

from rota.stateless_scheduler.client import Action, Line, SchedulerClient
from rota.wire import controllers_pb2 as wire
from tests.faults.event_loop import OUTSIDE, Life, VirtualLoop, context_of
from tests.faults.machine import MachineClock
from tests.faults.rpc import Call, Channel
from tests.faults.scheduler.ledger import ActionLedger
from tests.faults.scheduler.scenario import SCHEDULER, Form
from tests.faults.services import CONTROLLERS, DIRECT
from tests.faults.sockets import Host

if TYPE_CHECKING:
    from tests.faults.scheduler.witness import ActionWitness

ASKS_AGAIN_S = 0.4


def token_of(controller: str) -> str:
    return f"the token of {controller}"


class Controller:
    def __init__(
        self,
        name: str,
        host: Host,
        clock: MachineClock,
        chance: Random,
        witness: ActionWitness,
        loop: VirtualLoop,
    ) -> None:
        self.name = name
        self.ledger = ActionLedger(name, chance, witness)
        self._host = host
        self._clock = clock
        self._chance = chance
        self._witness = witness
        self._loop = loop
        self._lives = 0
        self._life: Life | None = None
        self._client: SchedulerClient | None = None
        self._asked: list[Callable[[], None]] = []
        """While it wasn't there."""

    # -- it comes and goes

    def start(self) -> None:
        """Does nothing if it is there."""
        if self._life is not None:
            return
        self._lives += 1
        life = self._life = Life(f"{self.name} {self._lives}", self._clock)
        self._witness.note(f"{life.name} starts")
        context = context_of(life)
        client = self._client = SchedulerClient(
            SCHEDULER,
            self.name,
            token_of(self.name),
            self.ledger,
            dial=self._dial,
            chance=self._chance.random,
        )
        working = self._loop.create_task(self._work(client), context=context)
        working.add_done_callback(lambda done: self._ended(life, done), context=OUTSIDE)
        asked, self._asked = self._asked, []
        for do in asked:
            context.run(do)

    def kill(self, power_is_lost: bool = False) -> None:
        life, self._life, self._client = self._life, None, None
        if life is not None:
            self._witness.note(f"{life.name} is killed")
            life.is_over = True
            if power_is_lost:
                self._host.lose_power()
                self._clock.boots()
            else:
                self._host.end_process(life)

    def _ended(self, life: Life, working: asyncio.Task[None]) -> None:
        if not life.is_over and not working.cancelled():
            self._witness.broken("I0", f"{life.name} ended by itself: {working.exception()!r}")

    async def _work(self, client: SchedulerClient) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.run())
            group.create_task(self._cancel_again(client))

    async def _cancel_again(self, client: SchedulerClient) -> None:
        """Whoever cancels without a connection has to do it again."""
        while True:
            if cancelled := self.ledger.cancelled():
                client.cancel(cancelled, "not needed")
            await asyncio.sleep(ASKS_AGAIN_S)

    @asynccontextmanager
    async def _dial(self) -> AsyncIterator[Line]:
        channel = Channel(self._host, SCHEDULER, CONTROLLERS)
        try:
            yield cast(Line, Stub(channel))
        finally:
            channel.close()

    # -- what is asked of it, as soon as it is there

    def submit(self, id: str, form: Form) -> None:
        self._ask(lambda: self._submit(id, form))

    def cancel(self, id: str) -> None:
        self._ask(lambda: self.ledger.cancel([id]))

    def _ask(self, do: Callable[[], None]) -> None:
        if self._life is None:
            self._asked.append(do)
        else:
            context_of(self._life).run(do)

    def _submit(self, id: str, form: Form) -> None:
        assert self._client is not None
        action = Action(id, form.job(), submitted_ms=self._clock.now_ms())
        self._witness.submitted(self.name, id, form)
        self.ledger.add(action)
        self._client.submit([action])


class Stub:
    """As much of `ControllersAsyncStub` as a client uses."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def Direct(self) -> Call[wire.ControllerNews, wire.SchedulerNews]:  # noqa: N802 – the name in the .proto
        return self._channel.begin(DIRECT)
