"""Keys to be attended to: each once at a time, and after failures only after pauses that grow.

A key that is added again while it waits is still attended to once; one that is added while it is attended to,
once more after that. Retries of all keys together are held to a rate as well.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from rota.patience.backoff import Backoff

K = TypeVar("K", bound=Hashable)

PAUSES = Backoff(0.005, 300.0)


class Rate(Struct, frozen=True):
    """Of retries, all together: so many at once, then so many a second."""

    per_s: float = 100.0
    at_once: int = 500


class _Allowance:
    """Each asks how long to wait, and is counted."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._paid_until_s = float("-inf")

    def wait_s(self, now_s: float) -> float:
        spacing_s = 1 / self._rate.per_s
        begins_s = max(self._paid_until_s, now_s - self._rate.at_once * spacing_s)
        self._paid_until_s = begins_s + spacing_s
        return max(0.0, self._paid_until_s - now_s)


class WorkQueue(Generic[K]):
    """Of one event loop."""

    def __init__(
        self,
        pauses: Backoff = PAUSES,
        rate: Rate = Rate(),  # noqa: B008 – frozen
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._pauses = pauses
        self._allowance = _Allowance(rate)
        self._chance = chance
        self._ready: dict[K, None] = {}
        self._taken: dict[K, bool] = {}
        """Whether it was added again since."""
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._is_ready = asyncio.Event()

    def __len__(self) -> int:
        """How many wait, those that wait for their time included."""
        return len(self._ready) + len(self._later) + sum(self._taken.values())

    def add(self, key: K) -> None:
        """Now, however long it was to wait: something has changed."""
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()
        if key in self._taken:
            self._taken[key] = True
        else:
            self._ready[key] = None
            self._is_ready.set()

    def add_after(self, key: K, delay_s: float) -> None:
        """If it waits already, whatever is earlier counts."""
        if key in self._ready or self._taken.get(key):
            return
        loop = asyncio.get_running_loop()
        due_s = loop.time() + delay_s
        before = self._later.get(key)
        if before is not None:
            if before.when() <= due_s:
                return
            before.cancel()
        self._later[key] = loop.call_at(due_s, self.add, key)

    async def take(self) -> K:
        """The next; whoever takes it says `done` or `retry` in the end."""
        while not self._ready:
            self._is_ready.clear()
            await self._is_ready.wait()
        key = next(iter(self._ready))
        del self._ready[key]
        self._taken[key] = False
        return key

    def done(self, key: K) -> None:
        """It went well, or nothing is to be done for it any more."""
        self._failures.pop(key, None)
        self._put_back(key)

    def retry(self, key: K) -> None:
        """It went wrong: it comes again, later each time."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = self._pauses.pause_s(failures, self._chance())
        wait_s = self._allowance.wait_s(asyncio.get_running_loop().time())
        self._put_back(key)
        self.add_after(key, max(pause_s, wait_s))

    def close(self) -> None:
        """Nothing comes by itself any more."""
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()

    def _put_back(self, key: K) -> None:
        if self._taken.pop(key):
            self.add(key)
