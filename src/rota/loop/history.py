"""Finished jobs are kept as long as the settings say; then they go, with their logs and outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from rota.backends.backend import Backend, BackendUnavailable
from rota.control.controller import Controller
from rota.store.errors import StoreUnavailable
from rota.store.prune import History

log = structlog.get_logger()

EVERY_S = 10.0
"""A step removes a bounded number, so that nobody waits for it."""
ANSWERS_MS = 24 * 3_600_000
"""For so long the same idempotency key gets the same answer."""


class HistoryKeeper:
    def __init__(
        self,
        controller: Controller,
        backends: Sequence[Backend],
        history: History,
        events_ms: int | None,
    ) -> None:
        """`events_ms`: how long events are kept; None: for ever."""
        self._events_ms = events_ms
        self._controller = controller
        self._backends = backends
        self._history = history

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.tidy()
            except (StoreUnavailable, BackendUnavailable, OSError) as error:
                log.warning("history can't be tidied", why=str(error))

    async def tidy(self) -> None:
        store, now_ms = self._controller.store, self._controller.now_ms()
        await asyncio.to_thread(store.forget_answers, now_ms - ANSWERS_MS)
        if self._events_ms is not None:
            await asyncio.to_thread(store.forget_events, now_ms - self._events_ms)
        gone = await asyncio.to_thread(store.prune, self._history, now_ms)
        if gone:
            for backend in self._backends:
                await backend.forget(gone)
