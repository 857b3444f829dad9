"""What signals mean to a service: stop, leave at once, and read the files again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from time import monotonic
from types import FrameType

ONCE_S = 1.0
"""A wrapper that passes Ctrl-C on sends a second one within a moment; people take longer."""
EX_INTERRUPTED = 130
_STOPPING = (signal.SIGINT, signal.SIGTERM)


class Insistence:
    """Whether a signal to stop is the first, or one that means: now, at once."""

    def __init__(self) -> None:
        self._first_s: float | None = None

    def is_again(self, now_s: float) -> bool:
        if self._first_s is None:
            self._first_s = now_s
            return False
        return now_s - self._first_s >= ONCE_S


def heed_stop(stop: Callable[[], None], *numbers: signal.Signals) -> None:
    """In the loop that runs, `stop` is called at each of the signals. Ctrl-C once more leaves at once.

    These handlers outlive the loop: whatever comes while a process ends shows no traceback. A signal that is
    ignored stays so: a shell has put the service into the background."""
    loop, insistence = asyncio.get_running_loop(), Insistence()

    def handle(number: int, frame: FrameType | None) -> None:
        is_again = insistence.is_again(monotonic())
        if is_again and number == signal.SIGINT:
            leave_at_once()
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)

    for number in numbers or _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


def heed_hangup(reload: Callable[[], None], stop: Callable[[], None]) -> None:
    """SIGHUP: `reload`; on a terminal, which was closed then, `stop`."""
    is_terminals = sys.stdin is not None and sys.stdin.isatty()
    ends = is_terminals and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop if ends else reload)

    signal.signal(signal.SIGHUP, handle)


def leave_at_once() -> None:
    """Everything that counts is committed already."""
    _end_children()
    sys.stderr.flush()
    os._exit(EX_INTERRUPTED)


def have_stopped() -> None:
    """Once a service has stopped: signals find nothing left to do, while the interpreter ends."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)
    _end_children()


def _end_children() -> None:
    """Processes that only calculate. Waiting for their answers would keep the service."""
    for child in active_children():
        child.kill()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started within don't hear Ctrl-C, which a terminal sends to all: their parent ends
    them. Blocked before they start, since they would be interrupted before they could say so themselves."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
