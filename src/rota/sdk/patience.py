"""When to ask a server again, and when to leave it alone for a while. Clocks and chance are given."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from rota.sdk.errors import RotaError, Unreachable

CONNECT_S = 5.0
ANSWER_S = 60.0
"""Without a single byte an answer is given up."""


class Retries(Struct, frozen=True):
    """The pause doubles each time; chance takes up to half of it away, so that clients that were cut off
    together don't come back together."""

    attempts: int
    first_s: float = 0.1
    longest_s: float = 2.0

    def pause_s(self, failures: int, failure: RotaError, chance: float) -> float | None:
        """How long to wait after so many failures in a row; None: give up. `chance` is from 0 to 1."""
        asked_s = failure.retry_after_s or 0.0
        if not failure.may_pass or failures >= self.attempts or asked_s > self.longest_s:
            return None
        doubled_s = self.first_s * 2.0 ** min(failures - 1, 16)
        return max(asked_s, min(self.longest_s, doubled_s) * (1 - chance / 2))


CALLS = Retries(attempts=5)
"""A person may be waiting: who calls in vain knows within two seconds."""
STREAMS = Retries(attempts=40, longest_s=30.0)
"""A stream outlives restarts of the server."""


class Breaker:
    """After `limit` failures in a row nobody asks for a while; then one call may try. Each time that this
    one fails, the while doubles."""

    def __init__(
        self,
        limit: int = 10,
        first_pause_s: float = 1.0,
        longest_pause_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until_s = 0.0

    def admit(self) -> None:
        """Raises Unreachable if it is too early to ask again."""
        with self._lock:
            if self._failures < self._limit:
                return
            now_s = self._clock()
            left_s = self._open_until_s - now_s
            if left_s > 0:
                raise Unreachable(
                    f"the server has not answered {self._failures} times in a row",
                    help=f"the next try is in {left_s:.0f} s; is `rota server` running?",
                    retry_after_s=left_s,
                )
            # This call is the one that tries; others wait for what becomes of it.
            self._open_until_s = now_s + self._pause_s()

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._limit:
                self._open_until_s = self._clock() + self._pause_s()

    def _pause_s(self) -> float:
        beyond = max(0, self._failures - self._limit)
        return min(self._longest_pause_s, self._first_pause_s * 2.0 ** min(beyond, 16))
