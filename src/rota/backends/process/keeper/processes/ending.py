"""How a task ended, in the words of `lifecycle`."""

from __future__ import annotations

import os
from resource import struct_rusage

from rota.backends.process.keeper.files.rooms import Room
from rota.launch.accounts import Isolation
from rota.launch.sandbox import read_end
from rota.lifecycle.state import EndReason, TaskEnd, Used

OUT_OF_TOUCH = "its machine had no contact with the server for so long that it was ended there"
INPUT_LOST = "the keeper ended before the task had all its input"
UNKNOWN = "the keeper wasn't running when it ended, so it is unknown how"


def used_by(usage: struct_rusage) -> Used:
    cpu_ms = int((usage.ru_utime + usage.ru_stime) * 1000)
    return Used(cpu_ms, usage.ru_maxrss << 10)


def end_of(status: int, used: Used, *, told_to: EndReason | None, out_of_memory: bool) -> TaskEnd:
    """`status`: as of wait(2). `told_to`: why it was ended, if it was."""
    exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if told_to is not None:
        reason = told_to
    elif out_of_memory and exit_code != 0:
        reason = EndReason.OUT_OF_MEMORY
    elif signal is not None:
        reason = EndReason.SIGNALLED
    else:
        reason = EndReason.EXITED
    message = OUT_OF_TOUCH if told_to is EndReason.LOST else ""
    return TaskEnd(reason, exit_code, signal, message, used)


def end_unseen(told_to: EndReason | None) -> TaskEnd:
    return TaskEnd(told_to or EndReason.LOST, message=UNKNOWN)


def how_it_ended(status: int, room: Room | None, isolation: Isolation) -> int:
    """As of wait(2). The first process of a sandbox has written down how its task did."""
    if isolation is not Isolation.SANDBOX or room is None:
        return status
    written = read_end(room.end)
    return status if written is None else written


def error_text(error: OSError | ValueError) -> str:
    """Without its number."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
