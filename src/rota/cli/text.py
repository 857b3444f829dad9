"""Text with styles, for terminals. Every command that prints a table needs it, so it is to be imported fast:
a library for terminals takes longer than the whole command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Self
from unicodedata import combining, east_asian_width

QUIET = "dim"
GOOD = "green"
PASSING = "yellow"
BAD = "red"
BOLD = "bold"
_CODES = {QUIET: "2", GOOD: "32", PASSING: "33", BAD: "31", BOLD: "1"}
_CUT = "…"


class Text:
    """Runs of characters, each with a style; "" is none."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self._runs: list[tuple[str, str]] = [(text, style)] if text else []

    def append(self, text: str, style: str = "") -> Self:
        if text:
            self._runs.append((text, style))
        return self

    def extend(self, other: Text) -> Self:
        self._runs += other._runs
        return self

    @property
    def plain(self) -> str:
        return "".join([text for text, _ in self._runs])

    def __str__(self) -> str:
        return self.plain

    def part(self, start: int, end: int) -> Text:
        """The characters from one index to another."""
        found, at = Text(), 0
        for text, style in self._runs:
            found.append(text[max(0, start - at) : max(0, end - at)], style)
            at += len(text)
        return found

    def lines(self) -> list[Text]:
        return [self.part(start, end) for start, end in _lines(self.plain)]

    def wrapped(self, width: int) -> list[Text]:
        """Lines of at most this width, broken between words. A longer word is cut."""
        found: list[Text] = []
        for line in self.lines():
            plain = line.plain
            if width_of(plain) <= width:
                found.append(line)
            else:
                found += [line.part(start, end).cut(width) for start, end in _breaks(plain, width)]
        return found

    def cut(self, width: int) -> Text:
        """With a mark at its end, if it is too wide."""
        plain = self.plain
        if width_of(plain) <= width:
            return self
        end = len(plain)
        while end and width_of(plain[:end]) >= width:
            end -= 1
        kept = self.part(0, end)
        return kept.append(_CUT, kept._runs[-1][1] if kept._runs else "")

    def shown(self, *, colours: bool) -> str:
        if not colours:
            return self.plain
        return "".join(f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style else text for text, style in self._runs)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """For a screen that is redrawn."""
        from rich.text import Text as RichText

        for line in self.wrapped(options.max_width):
            yield RichText.from_ansi(line.shown(colours=True))


def joined(parts: Iterable[Text]) -> Text:
    """One below the other."""
    found = Text()
    for at, part in enumerate(parts):
        found.append("\n" if at else "")
        found.extend(part)
    return found


def as_text(shown: str | Text) -> Text:
    return shown if isinstance(shown, Text) else Text(shown)


def width_of(text: str) -> int:
    """In columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def terminal_width() -> int | None:
    """None: nobody looks at a terminal, and a line may have any length. COLUMNS says otherwise."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80


def has_colours() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
    )


def _lines(plain: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in plain.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _breaks(plain: str, width: int) -> Iterator[tuple[int, int]]:
    """Of one line, where its parts begin and end: without the spaces between them."""
    start, end, at = 0, 0, 0
    for word in plain.split(" "):
        stop = at + len(word)
        if end > start and width_of(plain[start:stop]) > width:
            yield start, end
            start = at
        if word or end == start:
            end = stop
        at = stop + 1
    yield start, end
