"""Processes of a simulated machine, which are none: they take their time, write a little, heed signals, end,
and leave others behind.

They outlive the keeper that started them, as real ones do, and nothing outlives the machine's power.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from random import Random
from typing import Protocol

from msgspec import Struct

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.process.keeper.cgroups.groups import Group
from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.processes.spawning import Spawned
from rota.backends.process.keeper.streams.ends import task_pipe
from rota.clock import Clock
from rota.lifecycle.state import Used
from tests.faults.event_loop import OUTSIDE, VirtualLoop

INIT = 1
LONGEST_GRACE_S = 0.5
"""Between SIGTERM and the end of who heeds it."""
INIT_REAPS_WITHIN_S = 2.0
LEAVES_SOMEBODY = 0.1
"""How often a task leaves a process behind that only ends when it is killed."""


class Fate(Struct, frozen=True):
    """Of a task, unless somebody interferes."""

    run_s: float
    exit_code: int
    is_stubborn: bool = False
    """Only SIGKILL ends it before its time."""


class Observer(Protocol):
    """Sees what really happens."""

    def task_started(self, start: TaskStart) -> None: ...

    def task_ended(self, ref: TaskRef, exit_code: int | None, signal_number: int | None) -> None:
        """None of its processes is left. How the first of them ended."""


class Killed(BaseException):
    """Whoever made this call is killed in the middle of it."""


class Process:
    def __init__(self, pid: int, parent: int, started_ms: int, mark: str | None, ref: TaskRef | None) -> None:
        self.pid = pid
        self.parent = parent
        self.group = pid
        self.started_ms = started_ms
        self.mark = mark
        self.ref = ref
        """The task that it is of."""
        self.pipes: list[int] = []
        """Its ends, which it holds open."""
        self.status: int | None = None
        self.held_open: list[int] = []
        """Ends of pipes: who has the other one can read from it once this process has ended."""
        self.is_ending = False
        self.is_stubborn = False
        self.is_first = False
        """Of its task."""

    @property
    def has_ended(self) -> bool:
        return self.status is not None


class Kernel:
    """Of one machine, from one loss of power to the next. Implements the keeper's `Kernel`, for
    the keeper of the moment."""

    def __init__(
        self,
        loop: VirtualLoop,
        clock: Clock,
        chance: Random,
        fate: Callable[[TaskStart], Fate],
        observer: Observer,
        write: Callable[[TaskRef], tuple[bytes, bytes]],
    ) -> None:
        """`write`: what a task writes when it begins, and when it ends."""
        self._loop = loop
        self._clock = clock
        self._chance = chance
        self._fate = fate
        self._observer = observer
        self._write = write
        self._pids = count(1000)
        self._processes: dict[int, Process] = {}
        self._firsts: dict[TaskRef, int | None] = {}
        """How the first process of each task ended that still has one."""
        self._pidfds: dict[int, Process] = {}
        self.keeper = INIT
        self.on_child_ended: Callable[[], None] = lambda: None
        self.dies_after_calls: int | None = None
        """The keeper is killed in its call after so many more."""

    def of_keeper(self, pid: int, on_child_ended: Callable[[], None]) -> None:
        self.keeper, self.on_child_ended = pid, on_child_ended
        self.dies_after_calls = None

    def new_pid(self) -> int:
        return next(self._pids)

    # -- what becomes of all

    def keeper_ended(self) -> None:
        """Its children are init's, which reaps them when it gets round to it."""
        self.on_child_ended = lambda: None
        for process in list(self._processes.values()):
            if process.parent == self.keeper:
                process.parent = INIT
                if process.mark is None:
                    self._end(process, signal.SIGKILL)
                elif process.has_ended:
                    self._reap_by_init(process)
        self.keeper = INIT

    def lose_power(self) -> None:
        for process in list(self._processes.values()):
            process.parent = INIT
            self._end(process, signal.SIGKILL)
            self._forget(process)
        self._pidfds.clear()

    # -- Kernel

    def spawn(self, start: TaskStart, room: Room, group: Group | None, mark: str) -> Spawned:
        self._may_die()
        pipes = [task_pipe() for _ in range(2)]
        process = self._new(mark, start.ref)
        fate = self._fate(start)
        process.is_first, process.is_stubborn = True, fate.is_stubborn
        process.pipes = [writing for _, writing in pipes]
        at_ms, since_boot_ms = self._clock.now_ms(), self._clock.since_boot_ms()
        self._firsts[start.ref] = None
        self._observer.task_started(start)
        begins, ends = self._write(start.ref)
        os.write(process.pipes[0], begins)
        self._later(fate.run_s, lambda: self._exit(process, fate.exit_code << 8, ends))
        if self._chance.random() < LEAVES_SOMEBODY:
            self._leave_behind(process)
        try:
            self._may_die()
        except Killed:
            for reading, _ in pipes:
                os.close(reading)
            raise
        return Spawned(process.pid, at_ms, since_boot_ms, 0, pipes[0][0], pipes[1][0])

    def aside(self, work: Callable[[], str | None]) -> SimulatedAside:
        process = self._new(None, None)
        aside = SimulatedAside(process.pid)

        def do() -> None:
            if process.has_ended:
                return
            try:
                aside.result, status = work() or "", 0
            except Exception as error:
                aside.result, status = str(error), 1 << 8
            self._end(process, status)

        self._later(0.01 * self._chance.random(), do)
        return aside

    def ended_child(self) -> int | None:
        for process in self._processes.values():
            if process.parent == self.keeper and process.has_ended:
                return process.pid
        return None

    def reap(self, pid: int) -> tuple[int, Used]:
        self._may_die()
        process = self._processes[pid]
        assert process.status is not None
        self._forget(process)
        return process.status, Used()

    def children(self) -> list[int]:
        return [process.pid for process in self._processes.values() if process.parent == self.keeper]

    def children_of(self, pid: int) -> list[int]:
        return [process.pid for process in self._processes.values() if process.parent == pid]

    def kill(self, pid: int, number: int) -> None:
        if (process := self._processes.get(pid)) is not None:
            self._signal(process, number)

    def kill_group(self, leader: int, number: int) -> None:
        for process in list(self._processes.values()):
            if process.group == leader:
                self._signal(process, number)

    def mark_of(self, pid: int) -> str | None:
        process = self._processes.get(pid)
        return None if process is None or process.has_ended else process.mark

    def variables_of(self, pid: int, names: Sequence[str]) -> list[str] | None:
        """Simulated tasks have no secrets."""
        return None

    def marked(self) -> Iterator[tuple[int, str]]:
        for process in list(self._processes.values()):
            if not process.has_ended and process.mark is not None:
                yield process.pid, process.mark

    def started_ms(self, pid: int) -> int | None:
        process = self._processes.get(pid)
        return None if process is None else process.started_ms

    def open_pidfd(self, pid: int, from_ms: int, to_ms: int) -> int | None:
        process = self._processes.get(pid)
        if process is None or not from_ms <= process.started_ms <= to_ms:
            return None
        reading, writing = os.pipe2(os.O_CLOEXEC)
        self._pidfds[reading] = process
        if process.has_ended:
            os.close(writing)
        else:
            process.held_open.append(writing)
        return reading

    def has_ended(self, pidfd: int) -> bool:
        return self._pidfds[pidfd].has_ended

    def exit_status(self, pidfd: int) -> int | None:
        process = self._pidfds[pidfd]
        return None if process.pid in self._processes else process.status

    def reopen_pipe(self, pids: Sequence[int], inode: int) -> int | None:
        for pid in pids:
            process = self._processes.get(pid)
            for fd in () if process is None or process.has_ended else process.pipes:
                if os.fstat(fd).st_ino == inode:
                    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return None

    # -- processes

    def _new(self, mark: str | None, ref: TaskRef | None) -> Process:
        process = Process(self.new_pid(), self.keeper, self._clock.since_boot_ms(), mark, ref)
        self._processes[process.pid] = process
        return process

    def _leave_behind(self, process: Process) -> None:
        """In a session of its own; it holds no pipe."""
        child = self._new(process.mark, process.ref)
        child.parent = process.pid

    def _signal(self, process: Process, number: int) -> None:
        if process.has_ended:
            return
        if number == signal.SIGKILL:
            self._end(process, number)
        elif number == signal.SIGTERM and process.is_first and not (process.is_stubborn or process.is_ending):
            process.is_ending = True
            self._later(LONGEST_GRACE_S * self._chance.random(), lambda: self._end(process, number))

    def _exit(self, process: Process, status: int, last_words: bytes) -> None:
        if not process.has_ended:
            with suppress(BlockingIOError):
                os.write(process.pipes[0], last_words)
            self._end(process, status)

    def _end(self, process: Process, status: int) -> None:
        if process.has_ended:
            return
        process.status = status
        for fd in (*process.pipes, *process.held_open):
            os.close(fd)
        process.pipes.clear()
        for child in self._processes.values():
            if child.parent == process.pid:
                child.parent = process.parent
        if process.ref is not None:
            self._end_of(process.ref, process, status)
        if process.parent == INIT:
            self._reap_by_init(process)
        else:
            self.on_child_ended()

    def _end_of(self, ref: TaskRef, process: Process, status: int) -> None:
        if process.is_first:
            self._firsts[ref] = status
        if all(each.has_ended for each in self._processes.values() if each.ref == ref):
            how = self._firsts.pop(ref)
            assert how is not None
            exit_code = os.WEXITSTATUS(how) if os.WIFEXITED(how) else None
            self._observer.task_ended(ref, exit_code, os.WTERMSIG(how) if os.WIFSIGNALED(how) else None)

    def _reap_by_init(self, process: Process) -> None:
        self._later(INIT_REAPS_WITHIN_S * self._chance.random(), lambda: self._forget(process))

    def _forget(self, process: Process) -> None:
        self._processes.pop(process.pid, None)

    def _may_die(self) -> None:
        if self.dies_after_calls is not None:
            if self.dies_after_calls == 0:
                self.dies_after_calls = None
                raise Killed
            self.dies_after_calls -= 1

    def _later(self, delay_s: float, do: Callable[[], None]) -> None:
        self._loop.call_later(delay_s, do, context=OUTSIDE)


class SimulatedAside:
    """Implements Aside."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.result = ""
        self.text = ""
        self.failure = ""

    def ended(self, status: int) -> None:
        if os.WIFSIGNALED(status):
            self.failure = f"it was ended by signal {os.WTERMSIG(status)}"
        elif status != 0:
            self.failure = self.result
        else:
            self.text = self.result
