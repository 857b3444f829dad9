"""What the kernel knows of processes: read from /proc, and from pidfds where they tell more."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rota.launch import calls
from rota.launch.account import Account, acting_as, has_rights

MARK = "ROTA_TASK_REF"
"""In the environment of each process of a task, whatever became of its parents."""

TICK_MS = 10
"""The kernel tells no more exactly when a process was started."""

_MARK_PREFIX = MARK.encode() + b"="

# linux/pidfd.h, from Linux 6.15 on: how a process ended that isn't one's child, once it is reaped.
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_PIDFD_INFO = struct.Struct("<QQ11Ii")


def adopt_orphans() -> None:
    """Descendants whose parents have ended become children of this process."""
    calls.prctl(calls.PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    calls.prctl(calls.PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def _as_owner(pid: int) -> Iterator[None]:
    """What a process of another account has open, and its environment, is shown to that account alone. Who
    may act as others needs no other right to see it. Raises OSError."""
    own = os.geteuid()
    look = os.stat(f"/proc/{pid}")
    is_ours = own == 0 or look.st_uid in (0, own) or look.st_gid == 0 or not has_rights()
    with acting_as(None if is_ours else Account(look.st_uid, look.st_gid)):
        yield


def children_of(pid: int) -> list[int]:
    """Of a process of one thread. Empty: it has none, or is gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return [int(child) for child in file.readall().split()]
    except OSError:
        return []


def children() -> list[int]:
    """Of this process, which has one thread."""
    pid = os.getpid()
    with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
        return [int(child) for child in file.readall().split()]


def mark_of(pid: int) -> str | None:
    """None: it bears none, or is gone."""
    try:
        with _as_owner(pid):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for variable in environment.split(b"\0"):
        if variable.startswith(_MARK_PREFIX):
            return variable[len(_MARK_PREFIX) :].decode(errors="replace")
    return None


def variables_of(pid: int, names: Sequence[str]) -> list[str] | None:
    """What a process found in its environment when it began. None: not all of these, or it is gone."""
    try:
        with _as_owner(pid):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    found = dict(variable.partition(b"=")[::2] for variable in environment.split(b"\0"))
    values = [found[name.encode()] for name in names if name.encode() in found]
    if len(values) < len(names):
        return None
    return [value.decode(errors="replace") for value in values]


def marked() -> Iterator[tuple[int, str]]:
    """All processes of the machine that bear a mark."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and (mark := mark_of(int(name))) is not None:
            yield int(name), mark


def started_ms(pid: int) -> int | None:
    """On the clock since boot, to a hundredth of a second: with the pid, its identity. None: it is
    gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name, in parentheses, may hold anything.
    return int(stat[stat.rindex(b")") + 2 :].split()[19]) * 1000 // os.sysconf("SC_CLK_TCK")


def open_pidfd(pid: int, from_ms: int, to_ms: int) -> int | None:
    """Of the process that was started in this period, or None if it is gone."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    at_ms = started_ms(pid)
    if at_ms is None or not from_ms - TICK_MS <= at_ms <= to_ms + TICK_MS:
        os.close(fd)
        return None
    return fd


def has_ended(pidfd: int) -> bool:
    """Also if nobody has reaped it yet."""
    asked = select.poll()
    asked.register(pidfd, select.POLLIN)
    return bool(asked.poll(0))


def exit_status(pidfd: int) -> int | None:
    """As of wait(2); None where the kernel doesn't tell, or nobody has reaped it yet."""
    info = bytearray(_PIDFD_INFO.size)
    struct.pack_into("<Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    fields = _PIDFD_INFO.unpack(info)
    return int(fields[-1]) if fields[0] & _PIDFD_INFO_EXIT else None


def kill(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_group(leader: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, number)


def reopen_pipe(pids: list[int], inode: int) -> int | None:
    """The end to read from, of a pipe that one of these processes still holds."""
    for pid in pids:
        try:
            with _as_owner(pid):
                for name in os.listdir(f"/proc/{pid}/fd"):
                    path = f"/proc/{pid}/fd/{name}"
                    with suppress(OSError):
                        if os.readlink(path) == f"pipe:[{inode}]":
                            return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
    return None
