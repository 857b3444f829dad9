"""Exit codes, and errors as one line each that says what to do. docs/cli.md lists the codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper

from rota.cli.later import typer
from rota.cli.output import ReaderLeft, talk, write

EX_OK = 0
EX_BAD_INPUT = 1
EX_WAITING = 2
EX_DIFFERENT = 2
EX_REFUSED = 2
EX_NOT_FOUND = 3
EX_NOT_ALLOWED = 4
EX_UNREACHABLE = 5
EX_BUG = 70
"""EX_SOFTWARE of sysexits.h."""
EX_IO = 74
"""EX_IOERR of the same."""
EX_TIMED_OUT = 124
"""Of `rota run`, as timeout(1) has it."""
EX_NOT_RUN = 125
"""Of `rota run`: the job was cancelled, or couldn't start."""
EX_BY_SIGNAL = 128
"""Of `rota run`, plus the signal's number, as a shell has it."""
EX_INTERRUPTED = 130
EX_BROKEN_PIPE = 141
"""As a shell says of a process that SIGPIPE ended."""


def ensure_streams() -> None:
    """A stream that was closed, as daemons do, is replaced: its text must not appear on the other one. And
    a character that a terminal can't show must not end the command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the process lives
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_code(carry_out: Callable[[], int | None]) -> int:
    """Carries out a command. Errors become a message and an exit code."""
    try:
        code = carry_out()
        write("")
        return code or EX_OK
    except typer.TyperException as error:
        context: typer.Context | None = getattr(error, "ctx", None)
        said = error.format_message().removesuffix(".")
        said = said if said.endswith("?") else f"{said}."
        talk(f"{said} See `{context.command_path} --help`." if context else said.removesuffix("."))
        return EX_BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return EX_INTERRUPTED
    except ReaderLeft:
        _discard_output()
        return EX_BROKEN_PIPE
    except Exception as error:
        code = _server_error_code(error)
        if code is not None:
            return code
        if isinstance(error, OSError):
            _discard_output()
            talk(str(error))
            return EX_IO
        return _other_error_code(error)


def _discard_output() -> None:
    """Drops what is still in the buffer: writing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _server_error_code(error: Exception) -> int | None:
    """None: the error isn't one of a server. Only a command that has connected to one can meet those."""
    if "rota.cli.client.connection" not in sys.modules:
        return None
    from rota.cli.client.refusals import code_of, text_of

    code = code_of(error)
    if code is not None:
        talk(text_of(error))
    return code


def _other_error_code(error: Exception) -> int:
    from rota.intake.errors import InputError
    from rota.settings.errors import SettingsError

    if isinstance(error, InputError):
        for one in error.all:
            talk(str(one))
        return EX_BAD_INPUT
    if isinstance(error, SettingsError):
        talk(str(error))
        return EX_BAD_INPUT
    if os.environ.get("ROTA_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    else:
        talk(f"this is a bug in Rota: {type(error).__name__}: {error}")
        talk("please report it, with the output of the same command under ROTA_TRACEBACK=1")
    return EX_BUG
