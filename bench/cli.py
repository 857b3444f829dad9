"""Commands as somebody types them, from prompt to prompt: `make bench-cli`.

Each is a process of its own, started through the installed script, on a real server.

- an idle server: `rota run -- true`, `rota ls`, and `rota --help`, which asks no server.
- a full store: the same, and `rota ls --all`, while many jobs are over and some wait.

What any program in Python costs, `python -c pass`, is measured in the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles

from bench.finished import finished_database
from bench.harness import Result, report
from bench.rota_server import RotaServer, running
from bench.wire import Wire

CALLS = 30
FINISHED = 100_000
WAITING = 5_000
BATCH = 1_000
PAUSE_S = 0.05
"""Between two calls: what the server does after one is no part of the next."""
GOAL_MS = 150.0
HELP_GOAL_MS = 100.0

ROTA = str(Path(sys.executable).with_name("rota"))
FLOOR = (sys.executable, "-c", "pass")
HELP = (ROTA, "--help")
RUN = (ROTA, "run", "--", "true")
LS = (ROTA, "ls")
LS_ALL = (ROTA, "ls", "--all")


def idle() -> Iterator[Result]:
    with running("cli-idle") as server:
        yield from _compared("an idle server", server, (HELP, RUN, LS))


def full() -> Iterator[Result]:
    with running("cli-full", finished_database(FINISHED)) as server:
        with server.wire() as wire:
            _submit_held(wire)
        case = f"{FINISHED:,} jobs over, {WAITING:,} waiting"
        yield from _compared(case, server, (RUN, LS, LS_ALL))


def _submit_held(wire: Wire) -> None:
    jobs = [{"command": ["./step", str(number)], "hold": True} for number in range(BATCH)]
    for _ in range(WAITING // BATCH):
        wire.post("/v1/jobs", {"jobs": jobs})


def _compared(case: str, server: RotaServer, commands: Sequence[Sequence[str]]) -> Iterator[Result]:
    environment = _environment(server)
    floor_ms = median(_calls_ms(FLOOR, environment))
    for command in commands:
        taken_ms = _calls_ms(command, environment)
        said = " ".join(("rota", *command[1:]))
        goal_ms = HELP_GOAL_MS if command is HELP else GOAL_MS
        yield Result(case, f"`{said}`, ms, median", False, median(taken_ms), goal_ms, "goal", "≥ 1")
        p95_ms = quantiles(taken_ms, n=20)[-1]
        yield Result(case, f"`{said}`, ms, p95", False, p95_ms, floor_ms, "python -c pass, median", "")


def _environment(server: RotaServer) -> dict[str, str]:
    """Of a user who has started that server."""
    own = {"XDG_CONFIG_HOME": str(server.folder), "XDG_DATA_HOME": str(server.folder)}
    # With PYTHONDONTWRITEBYTECODE, a checkout that nobody has run before would be compiled at each call.
    left_out = ("ROTA_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)} | own


def _calls_ms(command: Sequence[str], environment: Mapping[str, str]) -> list[float]:
    taken_ms = []
    for number in range(CALLS + 1):
        start = time.perf_counter()
        subprocess.run(
            command,
            env=environment,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # The first one reads all files of the program from the disk.
        if number:
            taken_ms.append(1000 * (time.perf_counter() - start))
        time.sleep(PAUSE_S)
    return taken_ms


def main() -> None:
    report("cli", [*idle(), *full()], {})


if __name__ == "__main__":
    main()
