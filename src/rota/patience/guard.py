"""One breaker for all who ask the same server, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rota.clock import since_boot_s
from rota.patience.breaker import Breaker, BreakerState


class Guard:
    def __init__(self, breaker: Breaker, clock: Callable[[], float] = since_boot_s) -> None:
        self._breaker = breaker
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def state(self) -> BreakerState:
        return self._breaker.state(self._clock())

    @property
    def failures(self) -> int:
        return self._breaker.failures

    def admit(self) -> float:
        """0: ask, and tell what became of it; else how long it is too early, in seconds."""
        with self._lock:
            now_s = self._clock()
            wait_s = self._breaker.wait_s(now_s)
            if wait_s <= 0:
                self._breaker = self._breaker.asked(now_s)
            return wait_s

    def succeeded(self) -> None:
        with self._lock:
            self._breaker = self._breaker.succeeded()

    def failed(self) -> None:
        with self._lock:
            self._breaker = self._breaker.failed(self._clock())
