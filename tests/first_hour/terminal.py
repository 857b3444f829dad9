"""A terminal of 80 columns with a shell in it, at which commands are typed one after the other."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import pexpect

PATIENCE_S: Final = 300.0
_SETTLED_S: Final = 2.0
_COLUMNS: Final = 80
_CONTROLS: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[=>]|\][^\x07]*\x07)")

# Commands come through a pipe, so that a command that reads what is typed can't swallow the next one. `$?` is
# that of the command before, as at any prompt.
_SHELL: Final = r"""
trap : INT
exec 9<>"$1"
status=0
while IFS= read -r -d '' -u 9 typed; do
    (exit "$status")
    eval "$typed" 9<&-
    status=$?
    printf '\036%d\036' "$status"
done
"""
_DONE: Final = re.compile("\x1e(\\d+)\x1e")


class Terminal:
    def __init__(self, home: Path, name: str, environment: Mapping[str, str]) -> None:
        self.status = 0
        """Of the last command that is over."""
        self._typed, self.is_over = "", True
        self._commands = home / f".commands-{name or 'first'}".replace(" ", "-")
        os.mkfifo(self._commands)
        self._shell: pexpect.spawn[str] = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "-c", _SHELL, "bash", str(self._commands)],
            env={**environment, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": str(_COLUMNS)},
            cwd=str(home),
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(40, _COLUMNS),
            timeout=int(PATIENCE_S),
        )

    def run(self, command: str) -> list[str]:
        """What a command prints until it is over."""
        self.begin(command)
        return self.end()

    def end(self) -> list[str]:
        """What was printed since the last look, once the command is over."""
        if self.is_over:
            return []
        try:
            self._shell.expect(_DONE)
        except pexpect.TIMEOUT:
            raise AssertionError(
                f"not over in {PATIENCE_S:.0f} s: {self._typed}\n{self._shell.before}"
            ) from None
        assert isinstance(self._shell.match, re.Match)
        self.status = int(self._shell.match[1])
        return _lines(str(self._shell.before))

    def begin(self, command: str) -> None:
        self._typed, self.is_over = command, False
        with self._commands.open("w", encoding="utf-8") as commands:
            commands.write(command + "\0")

    def press(self, key: str) -> None:
        self._shell.send(key)

    def interrupt(self) -> None:
        self._shell.sendintr()

    def skip(self) -> None:
        """What was printed since the last look."""
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            while True:
                self._shell.read_nonblocking(65_536, timeout=0)

    def settled(self) -> list[str]:
        """What was printed since the last look, once nothing more comes."""
        printed = ""
        give_up_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_s:
            try:
                printed += self._shell.read_nonblocking(65_536, timeout=_SETTLED_S)
            except (pexpect.TIMEOUT, pexpect.EOF):
                if printed:
                    break
        if done := _DONE.search(printed):
            self.status, self.is_over = int(done[1]), True
        return _lines(_DONE.sub("", printed))

    def close(self) -> None:
        self._shell.close(force=True)


def _lines(printed: str) -> list[str]:
    """As they stand on the screen in the end: without what was drawn over."""
    lines = _CONTROLS.sub("", printed).replace("\r\n", "\n").split("\n")
    shown = [line.rsplit("\r", 1)[-1].rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    # A progress bar that is gone leaves empty lines.
    return list(itertools.dropwhile(lambda line: not line, shown))
