"""A circuit breaker as a state machine. What time it is, is given.

closed ── `limit` failures in a row ──► open ── a while ──► half open: one may try ── it answers ──► closed
                                         ▲                           │
                                         └── it doesn't: twice the while
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from rota.patience.backoff import Backoff


class BreakerState(Enum):
    CLOSED = "closed"
    """Everybody may ask."""
    OPEN = "open"
    """Nobody may: it would be in vain, and keep them waiting."""
    HALF_OPEN = "half-open"
    """The next who asks finds out."""


class Breaker(Struct, frozen=True):
    limit: int
    pauses: Backoff
    failures: int = 0
    """In a row."""
    opens_s: float = 0.0
    """Until when nobody asks, once there are too many."""

    def state(self, now_s: float) -> BreakerState:
        if self.failures < self.limit:
            return BreakerState.CLOSED
        return BreakerState.HALF_OPEN if now_s >= self.opens_s else BreakerState.OPEN

    def wait_s(self, now_s: float) -> float:
        """How long not to ask; 0: now is fine."""
        return self.opens_s - now_s if self.state(now_s) is BreakerState.OPEN else 0.0

    def asked(self, now_s: float) -> Breaker:
        """By somebody who needn't wait. If that one is to find out, others wait for what becomes of it."""
        return self if self.failures < self.limit else self._opened(now_s)

    def succeeded(self) -> Breaker:
        return replace(self, failures=0, opens_s=0.0) if self.failures else self

    def failed(self, now_s: float) -> Breaker:
        after = replace(self, failures=self.failures + 1)
        return after if after.failures < self.limit else after._opened(now_s)

    def _opened(self, now_s: float) -> Breaker:
        # Without chance: whoever may ask is one, and others are told how long.
        return replace(self, opens_s=now_s + self.pauses.pause_s(1 + self.failures - self.limit, 0.0))
