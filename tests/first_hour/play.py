"""Plays a page: its files in a fresh home, its commands at real terminals; and what was printed for each."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.as_ourselves import AS_OURSELVES
from tests.first_hour.page import INTERRUPT, Dialogue, GivenFile, Part, Printed, Step
from tests.first_hour.terminal import Terminal
from tests.kit.waiting import wait_until
from tests.real.process.host import is_alive, keeper_of

USER = "ada"
SHOWN_HOME = f"/home/{USER}"


def surroundings(home: Path) -> dict[str, str]:
    """What a user has who has just installed Rota on a laptop of four cores. Any free port will do."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ROTA_", "XDG_", "KUBE", "PYTHON", "PYTEST", "COV_", "MAKE", "MFLAGS"))
    }
    return inherited | {
        **AS_OURSELVES,
        "HOME": str(home),
        "USER": USER,
        "LOGNAME": USER,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROTA_SERVER_PORT": "0",
        "ROTA_WORKER_NAME": "laptop",
        "ROTA_WORKER_CPUS": "4",
        "ROTA_WORKER_MEMORY": "8Gi",
    }


def play(parts: Sequence[Part], home: Path, environment: Mapping[str, str]) -> Printed:
    terminals: dict[str, Terminal] = {}
    printed: dict[int, list[str]] = {}
    try:
        for part in parts:
            if isinstance(part, GivenFile):
                _give(home / part.name, part.text)
            elif isinstance(part, Dialogue):
                if part.terminal not in terminals:
                    terminals[part.terminal] = Terminal(home, part.terminal, environment)
                for step in part.steps:
                    shown = _take(terminals[part.terminal], step, lasting=bool(part.terminal))
                    printed[step.line] = [line.replace(str(home), SHOWN_HOME) for line in shown]
    finally:
        for name, terminal in terminals.items():
            if name:
                terminal.interrupt()
                terminal.settled()
            terminal.close()
        _end_keeper(home)
    return printed


def _give(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):
        path.chmod(0o755)


def _take(terminal: Terminal, step: Step, *, lasting: bool) -> list[str]:
    if not lasting:
        return terminal.run(step.typed)
    if step.typed == INTERRUPT:
        terminal.skip()
        terminal.interrupt()
    else:
        terminal.begin(step.typed)
    shown = (line.removeprefix(INTERRUPT) for line in terminal.settled())
    # Users aren't root. Whoever runs this may be.
    return [line for line in shown if line and "isolation.root" not in line]


def _end_keeper(home: Path) -> None:
    """What runs goes on without its server; here it ends with the page."""
    with suppress(OSError):
        keeper = keeper_of(home / ".local/share/rota/worker")
        os.kill(keeper, signal.SIGTERM)
        wait_until(lambda: not is_alive(keeper), 60)
