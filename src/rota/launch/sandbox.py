"""A task in namespaces of its own: for a Rota without rights, whose tasks can't be given other accounts.

    keeper ── clone ──► first process: users, mounts, processes, ipc and names of its own
                          │   all is read-only; Rota's folders, the home folder and /tmp are empty
                          └── fork ──► the task, which sees its own processes and its own room

The first process is the init of the task's processes. It hands signals on to the task; when it ends or is
killed, the kernel kills all that is left. It writes how the task ended into a file that only the keeper sees.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rota.launch import calls

NAMESPACES = (
    calls.CLONE_NEWUSER | calls.CLONE_NEWNS | calls.CLONE_NEWPID | calls.CLONE_NEWIPC | calls.CLONE_NEWUTS
)
_PRIVATE = ("/tmp", "/var/tmp", "/dev/shm", "/run/user")


class Sandbox(Struct, frozen=True, array_like=True):
    hidden: tuple[str, ...]
    """Folders and files that hold something of Rota or of its account."""
    writable: tuple[str, ...]
    """Folders that the task may write to: its room, and those that the operator shares."""


def enter(sandbox: Sandbox, uid: int, gid: int) -> None:
    """For the first process, right after it was made. `uid` and `gid`: as they were before."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    calls.mount("none", "/", flags=calls.MS_REC | calls.MS_PRIVATE)
    shown = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in sandbox.writable]
    calls.make_read_only("/")
    for path in sorted({*_PRIVATE, *sandbox.hidden}, key=len):
        _hide(path)
    for path, fd in shown:
        os.makedirs(path, exist_ok=True)
        calls.mount(f"/proc/self/fd/{fd}", path, flags=calls.MS_BIND)
        calls.make_writable(path)
    calls.mount("proc", "/proc", "proc", calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC)


def _hide(path: str) -> None:
    if os.path.isdir(path):
        calls.mount("tmpfs", path, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=700")
    elif os.path.exists(path):
        calls.mount("/dev/null", path, flags=calls.MS_BIND)


def attend(task: int, end: int) -> None:
    """What the first process does from then on. `end`: open, to write down how the task ended."""
    signals = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    while True:
        while (ended := _reaped()) is not None:
            pid, status = ended
            if pid == task:
                os.write(end, str(status).encode())
                return
        number = signal.sigwait(signals)
        if number != signal.SIGCHLD:
            with suppress(ProcessLookupError):
                os.killpg(task, number)


def block_signals() -> None:
    """So that none is lost before `attend` asks for it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())


def read_end(path: os.PathLike[str]) -> int | None:
    """How a task ended, as of wait(2). None: it was killed together with its first process."""
    try:
        return int(Path(path).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _reaped() -> tuple[int, int] | None:
    pid, status = os.waitpid(-1, os.WNOHANG)
    return (pid, status) if pid else None
