"""What the keeper asks of the kernel: to start processes, to signal and to reap them, and to tell of those
that another keeper started. All of it goes through here, so that a keeper can be simulated: with processes
that are none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from rota.backends.backend import TaskStart
from rota.backends.process.environment import base_environment
from rota.backends.process.keeper.cgroups.groups import Group
from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.processes import proc_files as processes
from rota.backends.process.keeper.processes.aside import ForkedAside
from rota.backends.process.keeper.processes.ending import used_by
from rota.backends.process.keeper.processes.spawning import Spawned, environment_of, prepare, spawn
from rota.launch.sandbox import Sandbox
from rota.lifecycle.state import Used


class Aside(Protocol):
    """Work in a process of its own."""

    pid: int
    text: str
    """What came of it, once it has ended."""
    failure: str

    def ended(self, status: int) -> None: ...


class Kernel(Protocol):
    # Children of the keeper

    def spawn(self, start: TaskStart, room: Room, group: Group | None, mark: str) -> Spawned:
        """Raises OSError, and ValueError for what can never run as asked."""

    def aside(self, work: Callable[[], str | None]) -> Aside:
        """The text that `work` returns, or of the exception that it raises, is the result."""

    def ended_child(self) -> int | None:
        """One that has ended; its number is nobody else's until it is reaped."""

    def reap(self, pid: int) -> tuple[int, Used]:
        """How it ended, as of wait(2), and what it has used."""

    def children(self) -> list[int]:
        """Also those whose parents have ended."""

    def children_of(self, pid: int) -> list[int]:
        """Of a process of one thread. Empty: it has none, or is gone."""

    # Whoever's child it is

    def kill(self, pid: int, number: int) -> None: ...

    def kill_group(self, leader: int, number: int) -> None: ...

    def mark_of(self, pid: int) -> str | None:
        """None: it bears none, or is gone."""

    def variables_of(self, pid: int, names: Sequence[str]) -> list[str] | None:
        """What it found in its environment when it began; None: not all of these, or it is gone."""

    def marked(self) -> Iterator[tuple[int, str]]:
        """All processes of the machine that bear a mark."""

    def started_ms(self, pid: int) -> int | None:
        """On the clock since boot, to a hundredth of a second: with the pid, its identity. None: it is
        gone."""

    # Those of another keeper

    def open_pidfd(self, pid: int, from_ms: int, to_ms: int) -> int | None:
        """Of the process that was started in this period, or None if it is gone. It can be read from once
        that has ended."""

    def has_ended(self, pidfd: int) -> bool:
        """Also if nobody has reaped it yet."""

    def exit_status(self, pidfd: int) -> int | None:
        """As of wait(2); None where the kernel doesn't tell, or nobody has reaped it yet."""

    def reopen_pipe(self, pids: list[int], inode: int) -> int | None:
        """The end to read from, of a pipe that one of these processes still holds."""


class Linux:
    """Implements Kernel."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """`sandbox`: what all tasks see and don't see; None: what we see."""
        self._base = base_environment(os.environ)
        self._sandbox = sandbox

    def spawn(self, start: TaskStart, room: Room, group: Group | None, mark: str) -> Spawned:
        prepare(start, room)
        if self._sandbox is None and room.account is None:
            return spawn(start, room, group, self._base, mark)
        own = environment_of(self._base, room.account, room)
        seen = self._sandbox
        if seen is not None:
            seen = replace(seen, writable=(str(room.path), *seen.writable))
        return spawn(start, room, group, own, mark, seen)

    def aside(self, work: Callable[[], str | None]) -> Aside:
        return ForkedAside(work)

    def ended_child(self) -> int | None:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return None
        return None if found is None else found.si_pid

    def reap(self, pid: int) -> tuple[int, Used]:
        _, status, usage = os.wait4(pid, 0)
        return status, used_by(usage)

    children_of = staticmethod(processes.children_of)
    children = staticmethod(processes.children)
    kill = staticmethod(processes.kill)
    kill_group = staticmethod(processes.kill_group)
    mark_of = staticmethod(processes.mark_of)
    variables_of = staticmethod(processes.variables_of)
    marked = staticmethod(processes.marked)
    started_ms = staticmethod(processes.started_ms)
    open_pidfd = staticmethod(processes.open_pidfd)
    has_ended = staticmethod(processes.has_ended)
    exit_status = staticmethod(processes.exit_status)
    reopen_pipe = staticmethod(processes.reopen_pipe)
