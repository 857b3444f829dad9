"""A terminal that passes every key on, as those of remote shells do; as it was before, on every way out."""

from __future__ import annotations

import os
import signal
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_LEAVING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What ends this process at once: the terminal is put back first."""


@contextmanager
def raw_terminal(fd: int, on_resize: Callable[[], object]) -> Iterator[None]:
    """`on_resize` is called once to begin with: its size may have changed meanwhile."""
    before = termios.tcgetattr(fd)

    def restore() -> None:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)

    def leave(number: int, frame: FrameType | None) -> None:
        restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    handlers: dict[signal.Signals, Any] = {signal.SIGWINCH: lambda number, frame: on_resize()}
    handlers |= dict.fromkeys(_LEAVING, leave)
    earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        # What was typed meanwhile is not thrown away.
        tty.setraw(fd, termios.TCSADRAIN)
        on_resize()
        yield
    finally:
        restore()
        for number, handler in earlier.items():
            signal.signal(number, handler)
