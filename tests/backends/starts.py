"""Tasks as sentences: what the suite tells backends to start."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rota.backends.backend import TaskStart
from rota.model.run import Run
from tests.backends.places import Place
from tests.backends.witness import ref

PLAIN = Run()
FOR_EVER = "echo up; while :; do sleep 0.05; done"
"""Says when it runs, and ends at once when it is told to."""
STUBBORN = "trap '' TERM; " + FOR_EVER
A_WHILE = "echo up; sleep 1; exit 4"


def shell(
    place: Place, job: str, script: str, *, rank: int = 0, fence: int = 1, run: Run = PLAIN, **start: Any
) -> TaskStart:
    """`run`: all but the command."""
    command = ("/bin/sh", "-c", script)
    return TaskStart(ref(job, rank, fence), place.node, replace(run, command=command), **start)
