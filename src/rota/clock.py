"""What time it is: on the wall clock, which jumps, and since boot, which doesn't.

A simulated machine has a clock of its own. It is found by context, as everything of that machine is: who
asks for the time needs to know nothing of that.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int: ...

    def since_boot_ms(self) -> int: ...

    def boot_id(self) -> str: ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def since_boot_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def boot_id(self) -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


_SYSTEM: Clock = SystemClock()
CLOCK: ContextVar[Clock] = ContextVar("clock", default=_SYSTEM)


def now_ms() -> int:
    """Anybody may set it: for what people read, and never to wait by."""
    return CLOCK.get().now_ms()


def since_boot_ms() -> int:
    """Goes on while the machine sleeps, is the same for all its processes, and nobody can set it."""
    return CLOCK.get().since_boot_ms()


def since_boot_s() -> float:
    return since_boot_ms() / 1000


def boot_id() -> str:
    """Another one each time that the machine is started."""
    return CLOCK.get().boot_id()
