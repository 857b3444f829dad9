"""From a fork of the keeper to a task's program.

    keeper ── fork ──► child: a session of its own, its pipes, its cgroups
                         │    becomes the task's account, gives up all rights
                         │    changes to the directory, looks for the program: whatever hangs, hangs here
                         └──► executes the program

The keeper waits for none of it. It reads the child's *word*: a pipe that closes when the program is executed,
or brings the reason why it can't be.
"""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Sequence
from typing import NamedTuple

from rota.launch import calls
from rota.launch.account import Account, become

COULD_NOT_START = 127
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_MOST_WORDS_BYTES = 4096
"""Fits into a pipe: nobody waits for it to be read."""
_WORD = 3


class Program(NamedTuple):
    arguments: list[str]
    """The first is looked for in PATH, unless it is a path."""
    environment: dict[str, str]
    directory: str
    groups: Sequence[str] = ()
    """Folders of the cgroups that it joins."""
    account: Account | None = None
    """None: as we are."""


class Child(NamedTuple):
    pid: int
    word: int
    """To be read from; see `read_word`."""


def start(program: Program, out: int, err: int) -> Child:
    """`out` and `err`: what it writes to. Raises OSError if there can't be another process."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if pid == 0:
        _become(program, out, err, writing)
    os.close(writing)
    return Child(pid, reading)


def read_word(word: int) -> str | None:
    """None: nothing yet. Empty: the program is executed, or the child was killed before."""
    try:
        return os.read(word, _MOST_WORDS_BYTES).decode(errors="replace")
    except BlockingIOError:
        return None


def _become(program: Program, out: int, err: int, word: int) -> None:
    """Never returns."""
    try:
        try:
            _leave_the_keeper(out, err, word)
            _join(program.groups)
            _give_up_rights(program.account)
            _execute(program)
        except OSError as error:
            text = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        except BaseException as error:
            text = str(error) or type(error).__name__
        os.write(_WORD, text.encode(errors="replace")[:_MOST_WORDS_BYTES])
    finally:
        os._exit(COULD_NOT_START)


def _leave_the_keeper(out: int, err: int, word: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    # None of them is below 3: the keeper has something open there.
    os.dup2(nothing, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    if word == _WORD:
        os.set_inheritable(_WORD, False)
    else:
        os.dup2(word, _WORD, inheritable=False)
    os.closerange(_WORD + 1, os.sysconf("SC_OPEN_MAX"))


def _join(groups: Sequence[str]) -> None:
    for group in groups:
        path = f"{group}/cgroup.procs"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.write(file, b"0")
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        os.close(file)


def _give_up_rights(account: Account | None) -> None:
    if account is None:
        return
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    calls.drop_bounding_set()
    become(account)
    calls.drop_capabilities()
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)


def _execute(program: Program) -> None:
    os.chdir(program.directory)
    name, *_ = program.arguments
    path = program.environment.get("PATH", "")
    executable = name if "/" in name else _found(name, path)
    if not _is_listened_to():
        # Another keeper doesn't know of it, or takes it for one that runs already.
        raise RuntimeError("the keeper has ended")
    os.execve(executable, program.arguments, program.environment)


def _is_listened_to() -> bool:
    asked = select.poll()
    asked.register(_WORD, 0)
    return not asked.poll(0)


def _found(name: str, path: str) -> str:
    for folder in path.split(":"):
        candidate = f"{folder or '.'}/{name}"
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise ValueError(f"command: {name!r} isn't in PATH ({path})")
