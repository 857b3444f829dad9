"""Plugins of a live cluster, and what went wrong with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from rota.api.plugins import PluginDocument, PluginFaultDocument
from rota.control.access import Who
from rota.control.memory import Memory
from rota.loop.hosting.fault_book import FaultTally
from rota.loop.hosting.known_plugins import known_plugins
from rota.loop.live.forecaster import time_of
from rota.loop.live.loop import LiveLoop
from rota.model.ids import JobId

Sees = Callable[[JobId], bool]


class PluginsDesk:
    def __init__(self, memory: Memory, live: LiveLoop) -> None:
        self._memory = memory
        self._live = live

    async def plugins(self, who: Who) -> Sequence[PluginDocument]:
        """What was about jobs that they may not see is counted, and no more."""
        live = self._live
        found = await asyncio.to_thread(known_plugins, live.host, live.policy)

        def sees(job_id: JobId) -> bool:
            state = self._memory.job(job_id)
            return who.projects is None or (state is not None and who.sees(state.spec.template.project))

        return [
            replace(one, faults=[_document(tally, sees) for tally in live.news.book.of_plugin(one.name)])
            for one in found
        ]


def _document(tally: FaultTally, sees: Sees) -> PluginFaultDocument:
    fault = tally.latest
    is_seen = not fault.job or sees(fault.job)
    return PluginFaultDocument(
        call=fault.call,
        count=tally.count,
        first=time_of(tally.first_ms),
        last=time_of(tally.last_ms),
        error=fault.error if is_seen else None,
        job=(fault.job or None) if is_seen else None,
    )
