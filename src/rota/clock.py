"""What time it is: on the wall clock, less its jumps, and since boot, which has none.

A simulated machine has a clock of its own. It is found by context, as everything of that machine is: who
asks for the time needs to know nothing of that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int: ...

    def since_boot_ms(self) -> int: ...

    def boot_id(self) -> str: ...


SMALL_MS = 5_000
"""A jump up to this is believed at once: a leap second, a clock that was set right."""
BELIEVED_AFTER_MS = 60_000
"""Larger ones, once the clock has stood by them for so long."""


class SteadyTime:
    """The wall clock, as far as it can be believed.

    The clock since boot says how much time has passed; time that a machine slept counts there. Where the wall
    clock says otherwise by more than a little, somebody has set it, and often enough they set it back soon:
    that is waited out. A jump ahead is then made in one step. Time never goes back: after a jump back it
    passes at half the speed until it is right again.
    """

    def __init__(self, wall_ms: Callable[[], int], since_boot_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._since_boot_ms = since_boot_ms
        self._at_ms = since_boot_ms()
        self._believed_ms = wall_ms() - self._at_ms
        self._offset_ms: float = self._believed_ms
        """Of the wall clock against that since boot: the one in use is the higher after a jump back."""
        self._claimed_ms = self._believed_ms
        self._claimed_since_ms = self._at_ms
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        with self._lock:
            return int(self._look() + self._offset_ms)

    def off_ms(self) -> int:
        """How far the wall clock is from this one; positive: ahead of it."""
        with self._lock:
            self._look()
            return int(self._claimed_ms - self._offset_ms)

    def _look(self) -> int:
        at_ms = self._since_boot_ms()
        claimed_ms = self._wall_ms() - at_ms
        if abs(claimed_ms - self._claimed_ms) > SMALL_MS:
            self._claimed_since_ms = at_ms
        self._claimed_ms = claimed_ms
        is_small = abs(claimed_ms - self._believed_ms) <= SMALL_MS
        if is_small or at_ms - self._claimed_since_ms >= BELIEVED_AFTER_MS:
            self._believed_ms = claimed_ms
        slowed_ms = self._offset_ms - (at_ms - self._at_ms) / 2
        self._offset_ms = max(self._believed_ms, slowed_ms)
        self._at_ms = at_ms
        return at_ms


class SystemClock:
    def __init__(self) -> None:
        self._steady = SteadyTime(_wall_ms, self.since_boot_ms)

    def now_ms(self) -> int:
        return self._steady.now_ms()

    def off_ms(self) -> int:
        return self._steady.off_ms()

    def since_boot_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def boot_id(self) -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


SYSTEM = SystemClock()
CLOCK: ContextVar[Clock] = ContextVar("clock", default=SYSTEM)


def now_ms() -> int:
    """For what people read: it can be wrong by any amount. What nobody is to be late for is waited for by the
    clock since boot."""
    return CLOCK.get().now_ms()


def since_boot_ms() -> int:
    """Goes on while the machine sleeps, is the same for all its processes, and nobody can set it."""
    return CLOCK.get().since_boot_ms()


def since_boot_s() -> float:
    return since_boot_ms() / 1000


def boot_id() -> str:
    """Another one each time that the machine is started."""
    return CLOCK.get().boot_id()
