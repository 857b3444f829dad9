"""`rota run -- COMMAND` without any option, as most people write it, without the declarations of all options:
to read these takes longer than to start the job."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

_COMPLETION = "_ROTA_COMPLETE"
"""Set by a shell that asks how a line can go on."""


def shortcut(words: Sequence[str]) -> Callable[[], int] | None:
    """What the command does, if that can be told; None: its options have to be read."""
    start, command = tuple(words[:2]), tuple(words[2:])
    if start != ("run", "--") or not command or _COMPLETION in os.environ:
        return None
    return partial(_run, command)


def _run(command: Sequence[str]) -> int:
    from rota.cli.job_options import JobOptions
    from rota.cli.jobs.run import run

    return run(command, JobOptions())
