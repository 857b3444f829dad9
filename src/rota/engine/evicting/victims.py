"""Running tasks as preemption sees them: who can go, who goes along, and putting back who needn't."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rota.engine.placing.board import Board
from rota.engine.placing.topology import Counter, Footprint
from rota.snapshot.arrays import Bools, Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.state import Snapshot


@dataclass(frozen=True, eq=False)
class Unit:
    """Running tasks (positions in the running columns) that can only be evicted together."""

    tasks: tuple[int, ...]
    job: int
    is_core: bool
    """What a gang can't do without: it goes only if the gang's spare tasks go, too."""
    priority: int
    started_ms: int
    name: str
    """Job id and rank, to break ties by."""

    def value(self) -> tuple[int, bool, int, int, str]:
        """Sorts from the most to the least worth sparing: high class, cores, large, long running."""
        return -self.priority, not self.is_core, -len(self.tasks), self.started_ms, self.name


class Victims:
    """Running tasks as preemption sees them in one cycle; evicted ones are no longer there."""

    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        priorities: Int64s,
        footprint: Callable[[int], Footprint],
    ) -> None:
        self.running = snapshot.running
        self.priorities = priorities
        self.alive: Bools = np.ones(len(self.running), dtype=np.bool_)
        self._board = board
        self.demands: list[Demand] = [
            snapshot.demand(template.groups[group].spec) for template, group in self.running.kinds
        ]
        self._footprint = footprint
        # Tasks are ordered by job: each job is a stretch that begins where the number changes.
        self._first = np.flatnonzero(np.diff(self.running.job, prepend=-1))

    def tasks_of(self, job: int) -> list[int]:
        """Alive tasks of a job, by its number."""
        end = self._first[job + 1] if job + 1 < len(self._first) else len(self.alive)
        stretch = self.alive[self._first[job] : end]
        tasks: list[int] = (np.flatnonzero(stretch) + self._first[job]).tolist()
        return tasks

    def candidates(self, eligible: Bools) -> tuple[Int64s, Int64s]:
        """Tasks that can be evicted, and how many go with each: it alone where its gang can spare
        one, else all of its gang, if all of it is eligible."""
        if not len(self.alive):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        alive = np.add.reduceat(self.alive.astype(np.int64), self._first)
        open_to = np.add.reduceat((eligible & self.alive).astype(np.int64), self._first)
        can_spare = alive > self.running.min_running
        job = self.running.job
        able = np.flatnonzero(eligible & self.alive & (can_spare | (open_to == alive))[job])
        return able, np.where(can_spare, 1, alive)[job[able]]

    def units(self, tasks: Iterable[int], eligible: Bools) -> list[Unit]:
        """The units of these candidates, each once. Of a gang no more go alone than it can spare:
        beyond that all of it goes, its core and its spare tasks, if all of it is eligible."""
        by_job: dict[int, list[int]] = {}
        for task in tasks:
            by_job.setdefault(int(self.running.job[task]), []).append(task)
        found = []
        for job, chosen in by_job.items():
            members = self.tasks_of(job)
            least = int(self.running.min_running[job])
            spare = max(0, len(members) - least)
            if len(chosen) > spare and all(eligible[task] for task in members):
                is_core = len(members) > 1
                found.append(self._unit(tuple(members[:least]), is_core))
                chosen = members[least:]
            else:
                chosen = chosen[:spare]
            found += [self._unit((task,), is_core=False) for task in chosen]
        return found

    def _unit(self, tasks: tuple[int, ...], is_core: bool) -> Unit:
        first = self.running.tasks[tasks[0]]
        return Unit(
            tasks,
            int(self.running.job[tasks[0]]),
            is_core,
            int(self.priorities[tasks[0]]),
            int(min(self.running.started_ms[task] for task in tasks)),
            f"{first.job.id}/{first.placement.rank}",
        )

    def singles(self, gang: list[Unit]) -> list[Unit]:
        """The tasks of a gang, each by itself; the small ones first, of which most can stay."""
        tasks = sorted(task for unit in gang for task in unit.tasks)
        return [self._unit((task,), is_core=False) for task in sorted(tasks, key=self._size)]

    def _size(self, task: int) -> int:
        """The task's largest share of its node, in millionths."""
        at = self.running.node[task : task + 1].astype(np.int64)
        return int(self._board.task_shares(self.demands[int(self.running.spec[task])], at).max())

    def counted_in(self, counters: Iterable[Counter]) -> Bools:
        """Tasks that are in any of these counters."""
        wanted = {id(counter) for counter in counters}
        kinds = range(len(self.running.kinds))
        hit = [any(id(one) in wanted for one in self._footprint(kind).counters) for kind in kinds]
        return np.array(hit, dtype=np.bool_)[self.running.spec]

    def lift(self, tasks: Iterable[int]) -> None:
        for task in tasks:
            kind = int(self.running.spec[task])
            self._board.lift(
                int(self.running.node[task]),
                self.demands[kind],
                self._footprint(kind),
                self.running.tasks[task].placement.gpu_devices,
            )

    def fits_back(self, unit: Unit) -> bool:
        """Whether the unit's tasks fit beside what is on the board now."""
        taken: dict[int, Int64s] = {}
        devices: dict[tuple[int, int], int] = {}
        for task in unit.tasks:
            at = int(self.running.node[task])
            demand = self.demands[int(self.running.spec[task])]
            before = taken.get(at)
            taken[at] = demand.take.copy() if before is None else before + demand.take
            for device in self.running.tasks[task].placement.gpu_devices:
                devices[at, device] = devices.get((at, device), 0) + demand.gpu.share_milli
        return all(
            bool((self._board.free[:, at] >= take)[take > 0].all()) for at, take in taken.items()
        ) and all(self._board.gpu_free[at, device] >= milli for (at, device), milli in devices.items())

    def put_back(self, unit: Unit) -> None:
        for task in unit.tasks:
            kind = int(self.running.spec[task])
            self._board.put_running(
                int(self.running.node[task]),
                self.demands[kind],
                self._footprint(kind),
                self.running.tasks[task].placement.gpu_devices,
            )
