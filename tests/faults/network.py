"""Packets between hosts: late, twice, out of order, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from msgspec import Struct

from tests.faults.event_loop import OUTSIDE

SHORTEST_DELAY_S = 0.0005
USUAL_DELAY_S = 0.005
LONGEST_DELAY_S = 1.5


class Conditions(Struct):
    """Of the whole network; each is a probability."""

    drops: float = 0.0
    duplicates: float = 0.0
    delays: float = 0.0
    """That a packet takes up to `LONGEST_DELAY_S`, and is overtaken by others."""


class Network:
    def __init__(self, loop: asyncio.AbstractEventLoop, chance: Random) -> None:
        self.conditions = Conditions()
        self.cut_off: set[str] = set()
        """Hosts that nobody reaches, and that reach nobody."""
        self.loop = loop
        self._chance = chance

    def send(self, source: str, target: str, arrive: Callable[[], None]) -> None:
        chance, conditions = self._chance, self.conditions
        copies = 1 + (chance.random() < conditions.duplicates)
        for _ in range(copies):
            if chance.random() < conditions.drops:
                continue
            longest_s = LONGEST_DELAY_S if chance.random() < conditions.delays else USUAL_DELAY_S
            delay_s = SHORTEST_DELAY_S + longest_s * chance.random()
            self.loop.call_later(delay_s, self._arrive, source, target, arrive, context=OUTSIDE)

    def _arrive(self, source: str, target: str, arrive: Callable[[], None]) -> None:
        if source not in self.cut_off and target not in self.cut_off:
            arrive()
