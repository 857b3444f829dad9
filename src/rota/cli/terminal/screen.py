"""A part of the terminal that is redrawn until the user presses q or Ctrl-C."""

from __future__ import annotations

import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live

from rota.cli.tables import Shown

END_KEYS = ("q", "Q", "\x1b", "\x04")


def is_terminal() -> bool:
    return sys.stdout.isatty()


def draw_until_quit(draw: Callable[[int], Sequence[Shown] | None], pause_s: float) -> None:
    """`draw` gets the height of the terminal, and answers None at the end. Ctrl-C ends it, too."""
    console = Console(highlight=False, markup=False, emoji=False)
    with (
        _single_keys() as key_within,
        Live(console=console, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        try:
            while (parts := draw(console.height)) is not None:
                live.update(Group(*parts), refresh=True)
                if key_within(pause_s) in END_KEYS:
                    return
        except KeyboardInterrupt:
            return


@contextmanager
def _single_keys() -> Iterator[Callable[[float], str]]:
    """Reads single keys without Enter. Without a keyboard, it only waits."""
    if not sys.stdin.isatty():
        yield _nobody
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin.fileno())
        yield _key_within
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key_within(seconds: float) -> str:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return sys.stdin.read(1) if ready else ""


def _nobody(seconds: float) -> str:
    select.select([], [], [], seconds)
    return ""
