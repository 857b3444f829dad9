"""Messages between a server and its agents: late, twice, out of order, or not at all.

On top of them, `Stream`: what TCP makes of such a network, so that what is sent over one connection
arrives in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

from msgspec import Struct

from rota.faults.event_loop import OUTSIDE

M = TypeVar("M")

RESEND_S = 0.4
LONGEST_DELAY_S = 1.5


class Conditions(Struct):
    """Of the whole network; each is a probability."""

    drops: float = 0.0
    duplicates: float = 0.0
    delays: float = 0.0
    """That a message takes up to `LONGEST_DELAY_S`, and is overtaken by others."""


class Network:
    def __init__(self, loop: asyncio.AbstractEventLoop, chance: Random) -> None:
        self.conditions = Conditions()
        self.cut_off: set[str] = set()
        """Agents that nobody reaches, and that reach nobody."""
        self._loop = loop
        self._chance = chance

    def send(self, agent: str, deliver: Callable[[M], None], message: M) -> None:
        """`agent`: the one at either end of the way."""
        chance, conditions = self._chance, self.conditions
        copies = 1 + (chance.random() < conditions.duplicates)
        for _ in range(copies):
            if chance.random() < conditions.drops:
                continue
            longest_s = LONGEST_DELAY_S if chance.random() < conditions.delays else 0.005
            self._loop.call_later(
                0.0005 + longest_s * chance.random(), self._arrive, agent, deliver, message, context=OUTSIDE
            )

    def _arrive(self, agent: str, deliver: Callable[[M], None], message: M) -> None:
        if agent not in self.cut_off:
            deliver(message)


class Segment(Struct, Generic[M], frozen=True):
    session: int
    number: int
    body: M


class Received(Struct, frozen=True):
    """All up to this number have arrived."""

    session: int
    number: int


class Stream(Generic[M]):
    """One end of a connection. Sends again what wasn't confirmed; hands on what arrives once, in order."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        session: int,
        send: Callable[[Segment[M] | Received], None],
        handle: Callable[[M], None],
        confirmed: Callable[[M], None] = lambda _: None,
    ) -> None:
        self.session = session
        self._loop = loop
        self._send = send
        self._handle = handle
        self._confirmed = confirmed
        self._sent = 0
        self._arrived = 0
        self._unconfirmed: dict[int, M] = {}
        self._early: dict[int, M] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def put(self, body: M) -> None:
        self._sent += 1
        self._unconfirmed[self._sent] = body
        self._send(Segment(self.session, self._sent, body))
        self._resend_later()

    def close(self) -> list[M]:
        """What wasn't confirmed: it may have arrived, or not."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        return list(self._unconfirmed.values())

    def arrived(self, message: Segment[M] | Received) -> None:
        if self._is_closed or message.session != self.session:
            return
        if isinstance(message, Received):
            for number in [number for number in self._unconfirmed if number <= message.number]:
                self._confirmed(self._unconfirmed.pop(number))
            return
        if message.number > self._arrived:
            self._early[message.number] = message.body
        while not self._is_closed and (self._arrived + 1) in self._early:
            self._arrived += 1
            self._handle(self._early.pop(self._arrived))
        self._send(Received(self.session, self._arrived))

    def _resend_later(self) -> None:
        if self._timer is None and self._unconfirmed and not self._is_closed:
            self._timer = self._loop.call_later(RESEND_S, self._resend, context=OUTSIDE)

    def _resend(self) -> None:
        self._timer = None
        for number, body in self._unconfirmed.items():
            self._send(Segment(self.session, number, body))
        self._resend_later()
