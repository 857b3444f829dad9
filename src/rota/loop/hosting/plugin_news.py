"""What is said between plugins and the rest of a live cluster: they are told of what was committed, and
whoever runs the cluster is told what went wrong with them.

    committed bindings ─► on_job_scheduled, in a thread of its own
                              └─► faults ─┐
    faults of a plan ─────────────────────┴─► book ─► log, metric, and whoever publishes them
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import structlog

from rota.engine.outside import tell
from rota.loop.hosting.fault_book import FaultBook, FaultTally
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.side_threads import Aside
from rota.loop.telemetry.metrics import Metrics
from rota.model.job import Job
from rota.model.plan import Binding, PluginFault
from rota.model.policy import Policy

MOST_WAITING = 10_000
"""Jobs that plugins haven't been told of yet. A plugin that is too slow isn't told of the others."""

News: TypeAlias = Callable[[], tuple[Job, Sequence[Binding]]]
"""What was committed of a job; worked out only where somebody wants to know."""

log = structlog.get_logger()


class PluginNews:
    def __init__(
        self,
        host: PluginHost,
        policy: Callable[[], Policy],
        now_ms: Callable[[], int],
        metrics: Metrics,
        publish: Callable[[FaultTally], Awaitable[None]],
    ) -> None:
        """`publish`: tells users of a fault; what it raises is logged, and ends nothing."""
        self.book = FaultBook()
        self._host = host
        self._policy = policy
        self._now_ms = now_ms
        self._metrics = metrics
        self._publish = publish
        self._committed: deque[News] = deque()
        self._left_out = 0
        self._wake = asyncio.Event()
        self._aside = Aside("rota-plugins")

    def committed(self, news: News) -> None:
        if len(self._committed) < MOST_WAITING:
            self._committed.append(news)
        else:
            self._left_out += 1
        self._wake.set()

    def failed(self, faults: Iterable[PluginFault]) -> None:
        """Of a decision that counts."""
        faults = tuple(faults)
        if not faults:
            return
        self.book.note(faults, self._now_ms())
        for fault in faults:
            self._metrics.count_plugin_fault(fault.plugin, fault.call)
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._tell_plugins()
            await self._tell_people()

    async def _tell_plugins(self) -> None:
        if not self._committed:
            return
        news, self._committed = list(self._committed), deque()
        left_out, self._left_out = self._left_out, 0
        if left_out:
            log.warning("plugin.untold", jobs=left_out)
        loop = asyncio.get_running_loop()
        self.failed(await loop.run_in_executor(self._aside, self._told, news, self._policy()))

    def _told(self, news: list[News], policy: Policy) -> tuple[PluginFault, ...]:
        with self._host.in_force(policy) as plugins:
            return tell((one() for one in news), policy, plugins)

    async def _tell_people(self) -> None:
        for tally in self.book.to_tell(self._now_ms()):
            fault = tally.latest
            log.warning(
                "plugin.failed",
                plugin=fault.plugin,
                call=fault.call,
                why=fault.error,
                job=fault.job,
                count=tally.untold,
            )
            try:
                await self._publish(tally)
            except Exception as error:
                log.warning("plugin.fault_unpublished", plugin=fault.plugin, why=str(error))

    def close(self) -> None:
        self._aside.shutdown()
