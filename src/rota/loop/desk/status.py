"""Whether the cluster is well, and how much there is of everything."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rota import __version__
from rota.api.service import SchedulingDocument, StatsDocument
from rota.backends.backend import Health
from rota.backends.registry import Registry
from rota.control.transactor import Transactor
from rota.loop.live.forecaster import time_of
from rota.loop.live.loop import LiveLoop


class StatusDesk:
    def __init__(self, transactor: Transactor, live: LiveLoop, backends: Registry) -> None:
        self.is_ready = False
        """Whether it can take requests."""
        self._transactor = transactor
        self._memory = transactor.memory
        self._store = transactor.store
        self._live = live
        self._backends = backends

    async def health(self) -> Sequence[tuple[str, Health]]:
        """Of the store and of each backend, by name."""
        fault = self._transactor.fault
        return [("store", Health(not fault, fault)), *(await self._backends.health()).items()]

    async def stats(self) -> StatsDocument:
        counts = await asyncio.to_thread(self._store.counts)
        return StatsDocument(
            pending=sum(self._memory.pending.values()),
            running=len(self._memory.on_nodes),
            finished=sum(count for phase, count in counts.items() if phase.is_terminal),
            nodes=sum(1 for _ in self._memory.nodes()),
            scheduling=SchedulingDocument(
                cycles=self._live.cycles,
                last_cycle=time_of(self._live.last_cycle_ms) if self._live.last_cycle_ms else None,
                last_cycle_s=self._live.last_cycle_s,
            ),
            version=__version__,
        )
