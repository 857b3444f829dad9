"""What is over is kept as long as the settings say: finished jobs, with their logs and outputs; events;
answers; input files; the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import Protocol

import structlog
from msgspec import Struct

from rota.backends.backend import BackendUnavailable
from rota.backends.registry import Registry
from rota.control.controller import Controller
from rota.control.errors import Unavailable
from rota.control.tokens import forget_old_tokens
from rota.store.errors import StoreUnavailable
from rota.store.prune import History

log = structlog.get_logger()

EVERY_S = 10.0
"""A step removes a bounded number, so that nobody waits for it."""
MOST_UPLOADS = 1000
"""In one step."""
ANSWERS_MS = 24 * 3_600_000
"""For so long the same idempotency key gets the same answer."""


class Retention(Struct, frozen=True):
    """For how long; None: for ever."""

    jobs: History = History()
    events_ms: int | None = None
    uploads_ms: int | None = None
    """Input files that no unfinished job needs, since they were uploaded last."""
    audit_ms: int | None = None
    audit_records: int | None = None


class Uploads(Protocol):
    """Input files, by the hash of their content."""

    def remove_unused(self, needed: Set[str], before_ms: int, at_most: int) -> int:
        """Those that were uploaded before and aren't needed; tells how many were removed."""


class HistoryKeeper:
    def __init__(
        self, controller: Controller, backends: Registry, retention: Retention, uploads: Uploads | None
    ) -> None:
        self._controller = controller
        self._backends = backends
        self._retention = retention
        self._uploads = uploads

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.tidy()
            except (Unavailable, StoreUnavailable, BackendUnavailable, OSError) as error:
                log.warning("history can't be tidied", why=str(error))

    async def tidy(self) -> None:
        store, now_ms = self._controller.store, self._controller.now_ms()
        await asyncio.to_thread(store.forget_answers, now_ms - ANSWERS_MS)
        if self._retention.events_ms is not None:
            await asyncio.to_thread(store.forget_events, now_ms - self._retention.events_ms)
        if self._retention.audit_ms is not None or self._retention.audit_records is not None:
            before_ms = None if self._retention.audit_ms is None else now_ms - self._retention.audit_ms
            await asyncio.to_thread(store.forget_audit, before_ms, self._retention.audit_records)
        gone = await asyncio.to_thread(store.prune, self._retention.jobs, now_ms)
        if gone:
            for backend in self._backends:
                await backend.forget(gone)
        await self._remove_uploads(now_ms)
        await forget_old_tokens(self._controller, now_ms)

    async def _remove_uploads(self, now_ms: int) -> None:
        uploads, kept_ms = self._uploads, self._retention.uploads_ms
        # While the store has a fault, there may be jobs in it that nobody knows of yet.
        if uploads is None or kept_ms is None or self._controller.fault:
            return
        jobs = self._controller.memory.jobs.values()
        needed = {file.sha256 for state in jobs for file in state.spec.run.files}
        await asyncio.to_thread(uploads.remove_unused, needed, now_ms - kept_ms, MOST_UPLOADS)
