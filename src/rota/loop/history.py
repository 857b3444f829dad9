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

EVERY_S = 60.0


class HistoryKeeper:
    def __init__(self, controller: Controller, backends: Sequence[Backend], history: History) -> None:
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
        gone = await asyncio.to_thread(store.prune, self._history, now_ms)
        if gone:
            for backend in self._backends:
                await backend.forget(gone)
