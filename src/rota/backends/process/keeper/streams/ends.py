"""Pipes and terminals between the keeper and a task: made before the task, half of them closed after."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rota.launch.account import Account
from rota.launch.starting import Streams
from rota.model.run import Run, Stdin

_WINDOW = struct.Struct("HHHH")


class Ends(NamedTuple):
    """The keeper's, and those of the task."""

    out: int
    err: int | None
    stdin: int | None
    terminal: int | None
    """The task's side of a terminal, which the keeper holds as well."""
    of_task: Streams


@contextmanager
def open_ends(run: Run, account: Account | None) -> Iterator[Ends]:
    """The task's are closed at the end, and all of them if that is an error. Raises OSError."""
    opened: list[int] = []
    try:
        ends = (
            _terminal(run, account, opened) if run.stdin is Stdin.TERMINAL else _pipes(run, account, opened)
        )
        yield ends
    except BaseException:
        for fd in opened:
            os.close(fd)
        raise
    kept = {ends.out, ends.err, ends.stdin, ends.terminal}
    for fd in opened:
        if fd not in kept:
            os.close(fd)


def _pipes(run: Run, account: Account | None, opened: list[int]) -> Ends:
    stdin = reading = None
    if run.stdin is Stdin.PIPE:
        reading, stdin = os.pipe2(os.O_CLOEXEC)
        opened += [reading, stdin]
        os.set_blocking(stdin, False)
        _open_to(reading, account)
    out, to_out = task_pipe(account)
    opened += [out, to_out]
    err, to_err = task_pipe(account)
    opened += [err, to_err]
    return Ends(out, err, stdin, None, Streams(to_out, to_err, reading))


def _terminal(run: Run, account: Account | None, opened: list[int]) -> Ends:
    master, slave = os.openpty()
    opened += [master, slave]
    writing = os.dup(master)
    opened.append(writing)
    os.set_blocking(master, False)
    _open_to(slave, account)
    set_window(slave, run.window)
    return Ends(master, None, writing, slave, Streams(slave, slave, slave, is_terminal=True))


def task_pipe(account: Account | None = None) -> tuple[int, int]:
    """The end to read from, and the task's, which it holds for reading as well: should the keeper end, its
    writes wait for the next keeper instead of failing."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _open_to(writing, account)
        both = os.open(f"/proc/self/fd/{writing}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading, both


def _open_to(fd: int, account: Account | None) -> None:
    """By its group: it may open /dev/stderr, and we its pipe."""
    if account is not None:
        os.fchown(fd, -1, account.gid)
        os.fchmod(fd, 0o660)


def set_window(terminal: int, window: tuple[int, int]) -> None:
    """The kernel tells whoever is in its foreground, if that changes something."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, _WINDOW.pack(*window, 0, 0))
