"""Whether `rota run` passes its standard input on to the job, and as what."""

from __future__ import annotations

import os
import stat
import sys

from rota.cli.job_options import JobOptions
from rota.cli.later import typer
from rota.cli.output import talk
from rota.model.run import WINDOW, Stdin

_NULL = (1, 3)
"""The device that is /dev/null, whatever its name."""
_TERM = "TERM"


def chosen_input(options: JobOptions, stdin: bool | None, *, pty: bool) -> Stdin:
    """`stdin`: as the user says; None: it is passed on if somebody has put something there."""
    if pty:
        if stdin is False:
            raise typer.BadParameter(
                "a terminal without input is none; leave one of them out", param_hint="--pty"
            )
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise typer.BadParameter(
                "needs a terminal here, for input and output; leave it out, and use -i for input from a pipe",
                param_hint="--pty",
            )
        return Stdin.TERMINAL
    if stdin is not None:
        return Stdin.PIPE if stdin else Stdin.NONE
    if not _is_given():
        return Stdin.NONE
    if options.tasks not in (None, 1) or options.retries or options.image:
        why = "is retried" if options.retries else f"has {options.tasks} tasks"
        if options.image:
            why = "runs in a container"
        talk(f"the job reads nothing of standard input, because it {why}; --no-stdin leaves this note out")
        return Stdin.NONE
    return Stdin.PIPE


def fields_of(choice: Stdin) -> dict[str, object]:
    """Of the job, as in a job file."""
    match choice:
        case Stdin.NONE:
            return {}
        case Stdin.PIPE:
            return {"stdin": choice.value}
        case Stdin.TERMINAL:
            rows, columns = window()
            term = os.environ.get(_TERM)
            environment = {"environment": {_TERM: term}} if term else {}
            return {"stdin": choice.value, "window": [rows, columns], **environment}


def window() -> tuple[int, int]:
    """Rows and columns of this terminal, whatever the environment says of them."""
    try:
        size = os.get_terminal_size(sys.stdin.fileno())
    except OSError:
        return WINDOW
    return (size.lines, size.columns) if size.lines and size.columns else WINDOW


def _is_given() -> bool:
    """A pipe, a file, a socket: not a terminal, where nobody may be typing, and not /dev/null."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return False
    if stat.S_ISCHR(status.st_mode):
        return not (sys.stdin.isatty() or (os.major(status.st_rdev), os.minor(status.st_rdev)) == _NULL)
    return True
