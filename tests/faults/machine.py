"""A machine with an agent: its clock, its disk, its kernel, and the processes that matter on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Protocol

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.process.folders import Folders
from rota.clock import SteadyTime
from rota.model.node import Node
from tests.faults.agent import AgentProcess
from tests.faults.event_loop import OUTSIDE, Life, VirtualLoop
from tests.faults.keeper import KeeperProcess, Line
from tests.faults.kernel import Fate, Kernel
from tests.faults.sockets import Host

RESTARTS_AFTER_S = 1.0


class Observer(Protocol):
    """Sees what really happens on machines."""

    def note(self, text: str) -> None: ...

    def task_started(self, node: Node, start: TaskStart) -> None: ...

    def task_ended(
        self, node: Node, ref: TaskRef, exit_code: int | None, signal_number: int | None
    ) -> None: ...

    def agent_failed(self, node: Node, error: BaseException | None) -> None: ...

    def machine_wiped(self, node: Node) -> None:
        """It doesn't know what it has run."""


class MachineClock:
    """Implements rota.clock.Clock."""

    def __init__(self, name: str, loop: VirtualLoop, now_ms: Callable[[], int]) -> None:
        self._name = name
        self._loop = loop
        self._now_ms = now_ms
        self._booted_s = loop.time()
        self._boots = 1

    def now_ms(self) -> int:
        return self._now_ms()

    def since_boot_ms(self) -> int:
        return 1_000 + int((self._loop.time() - self._booted_s) * 1000)

    def boot_id(self) -> str:
        return f"{self._name} {self._boots}"

    def boots(self) -> None:
        self._booted_s = self._loop.time()
        self._boots += 1


class ProcessClock:
    """As a process of production takes the time from its machine: jumps are believed when they last, and one
    that has just started knows of no time before. Implements rota.clock.Clock."""

    def __init__(self, machine: MachineClock) -> None:
        self._steady = SteadyTime(machine.now_ms, machine.since_boot_ms)
        self.now_ms = self._steady.now_ms
        self.since_boot_ms = machine.since_boot_ms
        self.boot_id = machine.boot_id


class Machine:
    def __init__(
        self,
        node: Node,
        host: Host,
        folder: Path,
        servers: Sequence[str],
        chance: Random,
        now_ms: Callable[[], int],
        fate: Callable[[TaskStart], Fate],
        observer: Observer,
        loop: VirtualLoop,
    ) -> None:
        """`servers`: hosts that take agents. `now_ms`: its wall clock, which may be wrong."""
        self.node = node
        self.host = host
        self.clock = MachineClock(node.name, loop, now_ms)
        self._folders = Folders(folder)
        self._servers = servers
        self.chance = chance
        self._fate = fate
        self._observer = observer
        self._loop = loop
        self.kernel = Kernel(loop, self.clock, chance, fate, self, written_by)
        self._keeper: KeeperProcess | None = None
        self._agent: AgentProcess | None = None
        self._lives = 0
        self._wiped = 0
        self._journal_synced_bytes = 0

    @property
    def is_up(self) -> bool:
        return self._agent is not None

    @property
    def unsettled(self) -> Sequence[TaskRef]:
        """As its keeper knows them."""
        return [] if self._keeper is None else self._keeper.unsettled

    @property
    def instance(self) -> str:
        return f"{self.node.name} {self._wiped}"

    # -- it comes and goes

    def come_up(self) -> None:
        """Its agent is started by a supervisor."""
        if self._agent is None:
            self._agent = AgentProcess(
                self._new_life("agent"), self, self._loop, self._folders, self._servers
            )

    def kill_agent(self) -> None:
        """Tasks go on."""
        agent, self._agent = self._agent, None
        if agent is not None:
            self._observer.note(f"{agent.life.name} is killed")
            agent.kill()
            self.host.end_process(agent.life)

    def agent_failed(self, agent: AgentProcess, error: BaseException | None) -> None:
        """By itself. Its supervisor starts another one."""
        if agent is self._agent:
            self._observer.agent_failed(self.node, error)
            self.kill_agent()
            self._loop.call_later(RESTARTS_AFTER_S, self.come_up, context=OUTSIDE)

    def kill_keeper(self, after_calls: int = 0) -> None:
        """In the midst of what it does: it isn't there any more after so many calls of the kernel; or now, if
        it makes none."""
        if self._keeper is not None:
            self._observer.note(f"{self._keeper.life.name} is killed")
            if after_calls:
                self.kernel.dies_after_calls = after_calls
            else:
                self._keeper.kill()

    def lose_power(self, is_wiped: bool = False) -> None:
        self._observer.note(f"{self.node.name} loses its power")
        self.host.lose_power()
        self.kernel.lose_power()
        if self._agent is not None:
            self._agent.kill()
            self._agent = None
        if self._keeper is not None:
            self._keeper.kill()
        self.clock.boots()
        if is_wiped:
            self._wiped += 1
            self._observer.machine_wiped(self.node)
            shutil.rmtree(self._folders.root, ignore_errors=True)
        else:
            self._tear_journal()

    def _tear_journal(self) -> None:
        """Of what was added since it was rewritten, any part may be there."""
        journal = self._folders.journal
        if journal.exists():
            size_bytes = journal.stat().st_size
            os.truncate(journal, self.chance.randint(min(self._journal_synced_bytes, size_bytes), size_bytes))

    def end(self) -> None:
        if self._agent is not None:
            self._agent.kill()
        if self._keeper is not None:
            self._keeper.kill()
        self.kernel.lose_power()

    def _new_life(self, kind: str) -> Life:
        self._lives += 1
        return Life(f"{kind} {self._lives} of {self.node.name}", self.clock)

    # -- for its agent

    def line_to_keeper(self) -> Line:
        """One that is there, or another."""
        self._folders.make()
        if self._keeper is None:
            self._keeper = KeeperProcess(
                self._new_life("keeper"), self._folders, self.kernel, self._loop, self._keeper_ended
            )
            self._journal_synced_bytes = self._folders.journal.stat().st_size
        return self._keeper.connect()

    def _keeper_ended(self, keeper: KeeperProcess) -> None:
        if self._keeper is keeper:
            self._keeper = None

    # -- for its kernel

    def task_started(self, start: TaskStart) -> None:
        self._observer.task_started(self.node, start)

    def task_ended(self, ref: TaskRef, exit_code: int | None, signal_number: int | None) -> None:
        self._observer.task_ended(self.node, ref, exit_code, signal_number)


def written_by(ref: TaskRef) -> tuple[bytes, bytes]:
    """A task, when it begins and when it ends by itself."""
    name = f"{ref.job}/{ref.rank}#{ref.fence}"
    return f"{name} begins\n".encode(), f"{name} ends\n".encode()
