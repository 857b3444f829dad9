"""When to ask a server again, and when to leave it alone for a while. Clocks and chance are given."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from rota.patience import breaker
from rota.patience.backoff import Backoff
from rota.patience.guard import Guard
from rota.sdk.errors import RotaError, Unreachable

CONNECT_S = 5.0
ANSWER_S = 60.0
"""Without a single byte an answer is given up."""


class Retries(Struct, frozen=True):
    attempts: int
    first_s: float = 0.1
    longest_s: float = 2.0

    def pause_s(self, failures: int, failure: RotaError, chance: float) -> float | None:
        """How long to wait after this many failures in a row; None: give up. `chance` is from 0 to 1."""
        asked_s = failure.retry_after_s or 0.0
        if not failure.may_pass or failures >= self.attempts or asked_s > self.longest_s:
            return None
        return max(asked_s, Backoff(self.first_s, self.longest_s).pause_s(failures, chance))


CALLS = Retries(attempts=5)
"""A person may be waiting: who calls in vain knows within two seconds."""
STREAMS = Retries(attempts=40, longest_s=30.0)
"""A stream outlives restarts of the server."""


class Breaker:
    """After `limit` failures in a row, no call is made for a while; then one call may try."""

    def __init__(
        self,
        limit: int = 10,
        first_pause_s: float = 1.0,
        longest_pause_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._guard = Guard(breaker.Breaker(limit, Backoff(first_pause_s, longest_pause_s)), clock)
        self.succeeded = self._guard.succeeded
        self.failed = self._guard.failed

    def admit(self) -> None:
        """Raises Unreachable if it is too early to ask again."""
        left_s = self._guard.admit()
        if left_s > 0:
            raise Unreachable(
                f"the server has not answered {self._guard.failures} times in a row",
                help=f"the next try is in {left_s:.0f} s; is `rota server` running?",
                retry_after_s=left_s,
            )
