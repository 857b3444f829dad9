"""From a fork of the keeper to a task's program.

    keeper ── fork ──► child: a session of its own, its pipes, its cgroups
                         │    becomes the task's account, gives up all rights
                         │    changes to the directory, looks for the program: whatever hangs, hangs here
                         └──► executes the program

The keeper waits for none of it. It reads the child's *word*: a pipe that closes when the program is executed,
or brings the reason why it can't be.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import termios
from collections.abc import Sequence
from typing import NamedTuple

from rota.launch import calls
from rota.launch.account import Account, become
from rota.launch.sandbox import NAMESPACES, Sandbox, attend, block_signals, enter

COULD_NOT_START = 127
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_MOST_WORDS_BYTES = 4096
"""Fits into a pipe: nobody waits for it to be read."""
_WORD = 3
_END = 4
_INSTEAD = "name another one with --dir, take files along with --file, or use --clean for an empty folder"


class Program(NamedTuple):
    arguments: list[str]
    """The first is looked for in PATH, unless it is a path."""
    environment: dict[str, str]
    directory: str
    groups: Sequence[str] = ()
    """Folders of the cgroups that it joins."""
    account: Account | None = None
    """None: as we are."""
    sandbox: Sandbox | None = None
    end: str = ""
    """With a sandbox: the file that its first process writes down how the task ended."""
    stdout: str = ""
    stderr: str = ""
    """Files that it writes to instead; empty: stdout to what the keeper reads, stderr along with it."""
    append: bool = False


class Streams(NamedTuple):
    """What a program reads and writes."""

    out: int
    err: int
    stdin: int | None = None
    """None: there is nothing to read."""
    is_terminal: bool = False
    """All three are one, and it is that of the program's session."""


class Files(NamedTuple):
    """What the child has open of the keeper's."""

    out: int
    err: int
    word: int
    end: int


class Child(NamedTuple):
    pid: int
    word: int
    """To be read from; see `read_word`."""


def start(program: Program, streams: Streams) -> Child:
    """Raises OSError if there can't be another process."""
    us = os.getuid(), os.getgid()
    # Opened in here: a file that is open for writing in there would keep its disk from being read-only.
    end = os.open(program.end or "/dev/null", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        pid = calls.fork(NAMESPACES if program.sandbox is not None else 0)
        if pid == 0:
            _become(program, streams, Files(streams.out, streams.err, writing, end), us)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
        os.close(end)
    return Child(pid, reading)


def read_word(word: int) -> str | None:
    """None: nothing yet. Empty: the program is executed, or the child was killed before."""
    try:
        return os.read(word, _MOST_WORDS_BYTES).decode(errors="replace")
    except BlockingIOError:
        return None


def _become(program: Program, streams: Streams, files: Files, us: tuple[int, int]) -> None:
    """Never returns."""
    try:
        try:
            _leave_the_keeper(files, streams.stdin)
            _join(program.groups)
            outside = None
            if program.sandbox is not None:
                outside = _identity(program.directory)
                _enter_sandbox(program.sandbox, *us)
            if streams.is_terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            _give_up_rights(program)
            _go_to(program.directory)
            if outside not in (None, _identity(".")):
                # It would find an empty folder of that name.
                raise RuntimeError(
                    f"{program.directory} is hidden in the sandbox that tasks run in; {_INSTEAD}"
                )
            _write_to_files(program)
            _execute(program)
        except OSError as error:
            text = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        except BaseException as error:
            text = str(error) or type(error).__name__
        os.write(_WORD, text.encode(errors="replace")[:_MOST_WORDS_BYTES])
    finally:
        os._exit(COULD_NOT_START)


def _leave_the_keeper(files: Files, stdin: int | None) -> None:
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    # Above all that they are to become, so that none is overwritten before it is read.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _END + 1) for fd in files]
    os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
    for fd, place in zip(high, (1, 2, _WORD, _END), strict=True):
        os.dup2(fd, place, inheritable=place < _WORD)
    os.closerange(_END + 1, os.sysconf("SC_OPEN_MAX"))


def _join(groups: Sequence[str]) -> None:
    for group in groups:
        path = f"{group}/cgroup.procs"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.write(file, b"0")
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        os.close(file)


def _enter_sandbox(sandbox: Sandbox, uid: int, gid: int) -> None:
    """Returns in the task's process. The first one of the sandbox stays behind, and attends to it."""
    nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    enter(sandbox, uid, gid)
    # It is a copy of the keeper, which knows more than this task may.
    calls.prctl(calls.PR_SET_DUMPABLE, 0)
    block_signals()
    task = calls.fork()
    if task == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        os.close(_END)
        return
    try:
        os.close(_WORD)
        # Whoever sends to the task is to see when the task itself has closed it.
        for stream in range(3):
            os.dup2(nothing, stream)
        calls.drop_capabilities()
        attend(task, _END)
    finally:
        os._exit(0)


def _give_up_rights(program: Program) -> None:
    if program.account is None and program.sandbox is None:
        return
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    calls.drop_bounding_set()
    if program.account is not None:
        become(program.account)
    calls.drop_capabilities()
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)


def _go_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise RuntimeError(f"its folder {directory}: {error.strerror}; {_INSTEAD}") from None


def _identity(folder: str) -> tuple[int, int] | None:
    """None: it can't be looked at."""
    try:
        look = os.stat(folder)
    except OSError:
        return None
    return look.st_dev, look.st_ino


def _write_to_files(program: Program) -> None:
    """With the rights of the task; whoever reads its log is told where its output is."""
    files = {1: program.stdout, 2: program.stderr or program.stdout}
    told = " and ".join(dict.fromkeys(os.path.abspath(path) for path in files.values() if path))
    if not told:
        return
    os.write(2, f"rota: its output is in {told}\n".encode(errors="surrogateescape"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    opened: dict[str, int] = {}
    for place, path in files.items():
        if not path:
            continue
        if path not in opened:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            opened[path] = os.open(path, flags if program.append else flags | os.O_TRUNC, 0o666)
        os.dup2(opened[path], place)


def _execute(program: Program) -> None:
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
    raise ValueError(f"{name!r} isn't in PATH; check its name, and that its node has it")
