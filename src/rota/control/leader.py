"""Leading, where several servers share a database: one at a time, and only as long as it is sure of it.

    follow ─► the lease is free ─► lead, renewing every third of its length ─► it can't be renewed ─► follow

The leader counts its time from before it asked, by a clock that no one sets and that goes on while a machine
sleeps: it steps down before another can begin. What it might still write after that, the store refuses; what
it only says, it says while it `leads()`: one that was frozen may speak before its timers do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

import structlog

from rota.store.errors import StoreError
from rota.store.leading import ServerLeases
from rota.store.sql.leases import Claim, Leadership, Lease

P = ParamSpec("P")
R = TypeVar("R")

LEASE = "scheduling"
TTL_MS = 15_000
_RENEWALS = 3
"""In the time of a lease."""
_LEAVES_BEFORE = 0.2
"""Of a lease: how much of it is left at least when its leader steps down."""
_RETRIES = 15
"""In the time of a lease, while the database doesn't answer."""

log = structlog.get_logger()


def since_boot_s() -> float:
    """Goes on while the machine sleeps, as the lease does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leader:
    def __init__(
        self,
        leases: ServerLeases,
        claim: Claim,
        ttl_ms: int = TTL_MS,
        clock: Callable[[], float] = since_boot_s,
    ) -> None:
        self._leases = leases
        self._claim = claim
        self._ttl_ms = ttl_ms
        self._ttl_s = ttl_ms / 1000
        self._clock = clock
        self._leadership: Leadership | None = None
        self._ends_s = 0.0
        self.lost = asyncio.Event()
        """Set when it no longer leads."""
        # Of its own: what waits for the writer must not keep a lease from being renewed.
        self._thread = ThreadPoolExecutor(1, "rota-lease")

    @property
    def holder(self) -> str:
        return self._claim.holder

    def leads(self) -> bool:
        """Nobody else can, at this very moment, however long this process may have stood still."""
        return not self.lost.is_set() and self._is_safe()

    async def lead(self) -> None:
        """Returns once this server leads."""
        while not await self._take():
            await asyncio.sleep(self._ttl_s / _RENEWALS)
        self.lost.clear()
        assert self._leadership is not None
        log.info("leader.elected", fence=self._leadership.token)

    async def hold(self) -> None:
        """Renews until the leadership is lost, and then ends."""
        leadership, failing = self._leadership, False
        assert leadership is not None, "lead first"
        while not await self._lost_within(self._ttl_s / (_RETRIES if failing else _RENEWALS)):
            renewed = await self._renew(leadership)
            failing = renewed is None
            if renewed is False or (failing and not self._is_safe()):
                log.warning("leader.lost", why="another leads" if renewed is False else "no answer")
                self.lost.set()

    async def _lost_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.lost.wait()
        return self.lost.is_set()

    async def resign(self) -> None:
        """Others needn't wait for the lease to end."""
        self.lost.set()
        try:
            async with asyncio.timeout(self._ttl_s):
                await self._call(self._give_up)
        except (StoreError, TimeoutError):
            log.info("lease.not_released")

    async def who_leads(self) -> Lease | None:
        """None: nobody, as far as is known."""
        lease = await self._call(self._leases.leader, self._claim.name)
        return lease if lease is not None and lease.left_ms > 0 else None

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _take(self) -> bool:
        asked_s = self._clock()
        try:
            await self._call(self._claim_it)
        except StoreError as error:
            log.warning("leader.unknown", why=str(error))
            return False
        self._ends_s = asked_s + self._ttl_s
        return self._leadership is not None and self._is_safe()

    async def _renew(self, leadership: Leadership) -> bool | None:
        """None: there was no answer in time."""
        asked_s = self._clock()
        try:
            async with asyncio.timeout(max(0.0, self._left_s() - _LEAVES_BEFORE * self._ttl_s)):
                renewed = await self._call(self._leases.renew, leadership, self._ttl_ms)
        except (StoreError, TimeoutError) as error:
            log.warning("lease.not_renewed", why=str(error))
            return None
        if renewed:
            self._ends_s = asked_s + self._ttl_s
        return renewed

    # In the thread, one after the other: also one whose answer nobody waits for any more is given up.

    def _claim_it(self) -> None:
        self._leadership = self._leases.lead(self._claim, self._ttl_ms)

    def _give_up(self) -> None:
        leadership, self._leadership = self._leadership, None
        if leadership is not None:
            self._leases.resign(leadership)

    def _is_safe(self) -> bool:
        return self._left_s() > _LEAVES_BEFORE * self._ttl_s

    def _left_s(self) -> float:
        return self._ends_s - self._clock()

    async def _call(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(call, *args, **kwargs))
