"""A status line that is overwritten on a terminal; without one, a new line for each change."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType
from typing import Self

from rota.cli.output import talk

_TO_THE_START_AND_CLEAR = "\r\x1b[2K"


class StatusLine:
    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._is_shown = False
        self._said = ""

    def show(self, text: str, changing: str = "") -> None:
        """`changing`: text that changes often, shown on a terminal only."""
        if not self._on_terminal:
            if text != self._said:
                talk(text)
        else:
            width = shutil.get_terminal_size().columns - 1
            line = f"rota: {'; '.join(filter(None, (text, changing)))}"
            sys.stderr.write(
                _TO_THE_START_AND_CLEAR + (line if len(line) <= width else f"{line[: width - 1]}…")
            )
            sys.stderr.flush()
            self._is_shown = True
        self._said = text

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write(_TO_THE_START_AND_CLEAR)
            sys.stderr.flush()
            self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
