"""All backends that the suite is run on. One more is one more class here, and its line in PLACES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from rota.backends.backend import Backend
from rota.backends.process.backend import ProcessBackend
from rota.model.ids import NodeName
from tests.backends.witness import Witness, collecting
from tests.real.process.host import end


class Place(Protocol):
    """Where tasks run, whoever talks to it. Tests know nothing of it but what a backend tells: they share
    no folder with tasks, and no host."""

    node: NodeName
    price_micro_per_hour: int
    """Of that node, as somebody set it."""

    def backend(self) -> Backend:
        """Another one each time, as after a restart; all of them for the same tasks."""

    async def clear(self) -> None:
        """Nothing of what was started here is left."""


class ThisMachine:
    node = NodeName("here")
    price_micro_per_hour = 120_000

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "backend"

    def backend(self) -> Backend:
        return ProcessBackend(
            self._folder,
            self.node,
            keeper_idle_ms=2_000,
            price_micro_per_hour=self.price_micro_per_hour,
        )

    async def clear(self) -> None:
        await end(self._folder)


PLACES: Mapping[str, Callable[[Path], Place]] = {"process": ThisMachine}
"""Each is given a folder of its own."""


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Witness]:
    """What runs goes on when it is left."""
    witness = Witness(place.backend())
    async with collecting(witness):
        yield witness
