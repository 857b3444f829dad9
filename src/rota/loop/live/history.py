"""Deletes old records after the time that the settings give: finished jobs with their logs and outputs,
events, answers, input files, the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from typing import Protocol

import structlog
from msgspec import Struct

from rota.backends.backend import BackendUnavailable
from rota.backends.registry import Registry
from rota.control.errors import Unavailable
from rota.control.tokens import forget_old_tokens
from rota.control.transactor import Transactor
from rota.loop.live.log_history import Kept, LogKeeper
from rota.store.errors import StoreUnavailable
from rota.store.writing.prune import History

log = structlog.get_logger()

EVERY_S = 10.0
"""How long nothing is looked for, once all that was to go is gone."""
SLICE_S = 0.015
"""How long one transaction may take: users who submit a job meanwhile wait for it."""
LEAST_PAUSE_S = 0.01
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
    logs: Kept = Kept()


class Uploads(Protocol):
    """Input files, by the hash of their content."""

    def remove_unused(self, needed: Set[str], before_ms: int, at_most: int) -> Sequence[str]:
        """Those that were uploaded before and aren't needed; tells which were removed."""


_FEWEST = 20


class Pace:
    """How many are removed in one transaction: as many as take about `SLICE_S`, on this disk and this day."""

    def __init__(self, most: int) -> None:
        self.at_most = 200
        self._most = most

    def took(self, removed: int, seconds: float) -> None:
        factor = min(2.0, max(0.5, SLICE_S / max(seconds, 1e-6)))
        if removed < self.at_most and factor > 1:
            # Few are fast. That says nothing about many.
            return
        self.at_most = min(self._most, max(_FEWEST, int(self.at_most * factor)))


class HistoryKeeper:
    def __init__(
        self, transactor: Transactor, backends: Registry, retention: Retention, uploads: Uploads | None
    ) -> None:
        self._transactor = transactor
        self._backends = backends
        self._retention = retention
        self._uploads = uploads
        self._answers, self._events, self._jobs = Pace(2_000), Pace(20_000), Pace(2_000)
        self._audit = Pace(20_000)
        self._logs = LogKeeper(transactor.store, backends, retention.logs)
        self._rest_due_s = 0.0
        """Of uploads and tokens, of which few are due at a time."""

    def set_retention(self, retention: Retention) -> None:
        self._retention = retention

    async def run(self) -> None:
        """Until it is cancelled."""
        pause_s = EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            try:
                pause_s = await self.tidy()
            except (Unavailable, StoreUnavailable, BackendUnavailable, OSError) as error:
                log.warning("history.not_pruned", why=str(error))
                pause_s = EVERY_S

    async def tidy(self) -> float:
        """One slice of each; answers how long to wait with the next. Others get at least as much time of the
        database as this does."""
        clock = asyncio.get_running_loop().time
        began_s, now_ms, store = clock(), self._transactor.now_ms(), self._transactor.store
        are_more = await self._slice(
            self._answers, lambda at_most: store.forget_answers(now_ms - ANSWERS_MS, at_most)
        )
        if (events_ms := self._retention.events_ms) is not None:
            before_ms = now_ms - events_ms
            are_more |= await self._slice(
                self._events, lambda at_most: store.forget_events(before_ms, at_most)
            )
        are_more |= await self._forget_audit(now_ms)
        jobs_began_s = clock()
        pruned = await asyncio.to_thread(store.prune, self._retention.jobs, now_ms, self._jobs.at_most)
        if pruned.jobs:
            self._jobs.took(len(pruned.jobs), clock() - jobs_began_s)
            for backend in self._backends:
                await backend.forget(pruned.jobs)
            are_more |= not pruned.is_all
        are_more |= await self._logs.tidy(now_ms)
        if clock() >= self._rest_due_s:
            self._rest_due_s = clock() + EVERY_S
            await self._remove_uploads(now_ms)
            await forget_old_tokens(self._transactor, now_ms)
        if are_more:
            return max(LEAST_PAUSE_S, clock() - began_s)
        return EVERY_S

    async def _slice(self, pace: Pace, remove: Callable[[int], int]) -> bool:
        """Whether there may be more."""
        clock = asyncio.get_running_loop().time
        began_s, at_most = clock(), pace.at_most
        removed = await asyncio.to_thread(remove, at_most)
        if removed:
            pace.took(removed, clock() - began_s)
        return removed >= at_most

    async def _forget_audit(self, now_ms: int) -> bool:
        kept_ms, records = self._retention.audit_ms, self._retention.audit_records
        if kept_ms is None and records is None:
            return False
        before_ms = None if kept_ms is None else now_ms - kept_ms
        forget = self._transactor.store.forget_audit
        return await self._slice(self._audit, lambda at_most: forget(before_ms, records, at_most))

    async def _remove_uploads(self, now_ms: int) -> None:
        uploads, kept_ms = self._uploads, self._retention.uploads_ms
        # While the store has a fault, it may contain jobs that aren't in memory yet.
        if uploads is None or kept_ms is None or self._transactor.fault:
            return
        jobs = self._transactor.memory.jobs.values()
        needed = {file.sha256 for state in jobs for file in state.spec.run.files}
        await asyncio.to_thread(uploads.remove_unused, needed, now_ms - kept_ms, MOST_UPLOADS)
