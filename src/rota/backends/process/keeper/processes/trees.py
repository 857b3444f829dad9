"""All processes of a task, also those that left its session and outlived their parents."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from rota.backends.backend import TaskRef
from rota.backends.process.keeper.processes.kernel import Kernel
from rota.backends.process.keeper.processes.proc_files import TICK_MS
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.clock import since_boot_ms
from rota.model.run import Stdin


def mark(keeper: str, ref: TaskRef) -> str:
    """In the environment of each of them."""
    return f"{keeper}/{ref.job}/{ref.rank}/{ref.fence}"


class Trees:
    """Orphans become children of the keeper, which tells by their mark whose they are."""

    def __init__(self, keeper: str, kernel: Kernel) -> None:
        self._keeper = keeper
        self._kernel = kernel
        self._prefix = f"{keeper}/"
        self._orphans: dict[int, str | None] = {}
        self.own: set[int] = set()
        """Children that the keeper has started itself, and not reaped yet."""

    def mark(self, task: KeptTask) -> str:
        return mark(self._keeper, task.ref)

    def reaped(self, pid: int) -> None:
        self.own.discard(pid)
        self._orphans.pop(pid, None)

    def signal(self, task: KeptTask, number: signal.Signals) -> None:
        """To those in its session; all of them, once that is left to no other."""
        assert task.began is not None
        if task.is_adopted:
            pids = self.marked(task)
            if task.pidfd is not None and not self._kernel.has_ended(task.pidfd):
                # It bears no mark before its program is executed.
                pids.add(task.began.pid)
        else:
            self._kernel.kill_group(task.began.pid, number)
            pids = set()
        if task.group is not None and number == signal.SIGKILL:
            task.group.close()
            pids |= task.group.pids()
        for pid in pids:
            self._kernel.kill(pid, number)

    def ask_to_end(self, task: KeptTask) -> None:
        """Whatever is left of it after its grace is to be killed."""
        self.signal(task, signal.SIGTERM)
        if task.start.run.stdin is Stdin.TERMINAL:
            # Shells at a terminal pay no heed to the former.
            self.signal(task, signal.SIGHUP)
        # One that is stopped (SIGSTOP) would never see it.
        self.signal(task, signal.SIGCONT)
        task.kill_at_ms = since_boot_ms() + task.start.run.grace_ms

    def marked(self, task: KeptTask) -> set[int]:
        """On the whole machine: for tasks whose orphans go elsewhere."""
        wanted = self.mark(task)
        return {pid for pid, bearing in self._kernel.marked() if bearing == wanted}

    def kill_rest(self, tasks: Iterable[KeptTask]) -> list[KeptTask]:
        """Of all that aren't running any more, among `tasks` or long gone; returns those of `tasks` of
        which nothing is left."""
        running: list[KeptTask] = []
        clearing: list[KeptTask] = []
        for task in tasks:
            (clearing if task.stage is Stage.CLEARING else running).append(task)
        rest = self._orphans_but_of(running)
        clear = []
        for task in clearing:
            pids = rest.get(self.mark(task), set())
            if task.is_adopted:
                pids |= self.marked(task)
            if task.group is not None and (inside := task.group.pids()):
                task.group.close()
                pids |= inside
            if pids:
                rest[self.mark(task)] = pids
            else:
                clear.append(task)
        for pids in rest.values():
            for pid in pids:
                self._kernel.kill(pid, signal.SIGKILL)
        return clear

    def _orphans_but_of(self, running: list[KeptTask]) -> dict[str, set[int]]:
        """By mark; those without one that nobody who runs can have started, by ""."""
        children = self._kernel.children()
        if len(children) == len(self.own):
            return {}
        for pid in children:
            # A child keeps its number until it is reaped here: what was read once stays true.
            if pid not in self.own and pid not in self._orphans:
                bearing = self._kernel.mark_of(pid)
                ours = bearing is not None and bearing.startswith(self._prefix)
                self._orphans[pid] = bearing if ours else None
        spared = set(map(self.mark, running))
        found: dict[str, set[int]] = {}
        for pid, bearing in self._orphans.items():
            if bearing is None:
                if not self._may_come_from(running, pid):
                    found.setdefault("", set()).add(pid)
            elif bearing not in spared:
                found.setdefault(bearing, set()).add(pid)
        return found

    def _may_come_from(self, running: list[KeptTask], pid: int) -> bool:
        at_ms = self._kernel.started_ms(pid)
        return at_ms is not None and any(
            task.began is not None and task.began.since_boot_ms - TICK_MS <= at_ms for task in running
        )
