"""The engine's parts, put together for a cluster without the cycle around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rota.engine.evicting.preempt import preempt
from rota.engine.evicting.victims import Victims
from rota.engine.placing.board import Board
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import Footprint, Topology
from rota.engine.placing.work import Work
from rota.engine.plugin import ActivePlugin, Plugins, TaskView
from rota.model.ids import JobId, NodeName
from rota.model.job import Job
from rota.model.policy import Policy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster


class Workbench:
    """A board, and on request what a waiting job of the cluster is compiled to."""

    def __init__(
        self,
        cluster: Cluster,
        policy: Policy | None = None,
        *,
        plugins: Plugins = PLUGINS,
        active: Sequence[ActivePlugin] = (),
    ) -> None:
        self.cluster = cluster
        self.policy = policy or Policy()
        self.snapshot = snapshot_of(cluster.records, self.policy.defaults)
        self.board = Board(self.snapshot)
        self.nodes = self.snapshot.nodes
        self.faults: list[str] = []
        self._plugins = plugins
        self._active = active
        self._topology = Topology(self.nodes, self.snapshot.running)
        self._topology.prepare(
            (record.job.template.namespace, group.spec)
            for record in self.snapshot.jobs.values()
            for group in record.job.template.groups
        )
        self._signatures: dict[tuple[str, int], Signature] = {}

    def job(self, name: str) -> Job:
        return self.snapshot.jobs[JobId(name)].job

    def signature(self, name: str, group: int = 0) -> Signature:
        if (name, group) not in self._signatures:
            template = self.job(name).template
            spec = template.groups[group].spec
            self._signatures[name, group] = Signature(
                TaskView(template, spec, self.snapshot.demand(spec)),
                self.board,
                self._topology,
                self.policy.schedulers[0],
                self._plugins,
                self._active,
                self._ask,
            )
        return self._signatures[name, group]

    def work(self, name: str) -> Work:
        """All of a waiting job, as the cycle would have it placed."""
        template = self.job(name).template
        [key] = {
            lane.key for lane in self.snapshot.waiting.lanes() if any(j.id == name for j in lane.view()[0])
        }
        placed_at = tuple(self.nodes.position[p.node] for p in self.snapshot.jobs[JobId(name)].placements)
        return Work(
            tuple(self.signature(name, group) for group in range(len(template.groups))),
            key.waiting_by_group,
            key.needed,
            template.topology,
            placed_at,
        )

    def footprint(self, name: str, group: int = 0) -> Footprint:
        template = self.job(name).template
        return self._topology.footprint(template.namespace, template.groups[group].spec)

    def at(self, name: str) -> int:
        return self.nodes.position[NodeName(name)]

    def names(self, positions: Iterable[int]) -> list[str]:
        return [self.nodes.names[at] for at in positions]

    def put(self, name: str, node: str) -> tuple[int, ...]:
        """Puts a task of the job on the board."""
        signature = self.signature(name)
        return self.board.put(self.at(node), signature.demand, signature.footprint)

    def best(self, name: str) -> str | None:
        at = self.signature(name).best()
        return None if at < 0 else self.nodes.names[at]

    def state(self) -> dict[str, Any]:
        """A copy of everything on the board that a plan depends on."""
        board = self.board
        return {
            "free": board.free.tolist(),
            "devices": board.gpu_free.tolist(),
            "shares": board.shares.tolist(),
            "opened": board.opened.tolist(),
            "cursor": board.cursor,
            "columns": [column.values.tolist() for column in board._column_list],
            "counters": [
                (counter.count.tolist(), counter.total) for counter in self._topology._counters.values()
            ],
        }

    def _ask(self, name: str, call: str, function: Callable[[], object]) -> object | None:
        try:
            return function()
        except Exception as error:
            self.faults.append(f"{name} {call}: {error}")
            return None


class Scene(Workbench):
    """A workbench with victims."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        running = self.snapshot.running
        priorities = np.array([task.job.template.priority for task in running.tasks], dtype=np.int64)
        self.victims = Victims(self.snapshot, self.board, priorities, self._footprint_of_kind)

    def _footprint_of_kind(self, kind: int) -> Footprint:
        template, group = self.snapshot.running.kinds[kind]
        return self._topology.footprint(template.namespace, template.groups[group].spec)

    def task_names(self, numbers: Any) -> list[str]:
        """job/rank of running tasks."""
        found = [self.snapshot.running.tasks[int(number)] for number in numbers]
        return [f"{task.job.id}/{task.placement.rank}" for task in found]

    def eligible(self, *spared: str) -> NDArray[np.bool_]:
        """All running tasks but those of these jobs, or these tasks (job/rank)."""
        tasks = self.snapshot.running.tasks
        names = zip((task.job.id for task in tasks), self.task_names(range(len(tasks))), strict=True)
        return np.array([not {job, name} & set(spared) for job, name in names], dtype=np.bool_)

    def kill(self, *names: str) -> None:
        alive = self.victims.alive
        for number, name in enumerate(self.task_names(range(len(alive)))):
            if name in names:
                alive[number] = False

    def candidates(self, *spared: str) -> dict[str, int]:
        """Tasks that can be evicted, and how many go with each."""
        able, together = self.victims.candidates(self.eligible(*spared))
        return dict(zip(self.task_names(able), together.tolist(), strict=True))

    def units(self, *spared: str) -> list[list[str]]:
        """Tasks that go together, of all that can be evicted."""
        eligible = self.eligible(*spared)
        units = self.victims.units(self.victims.candidates(eligible)[0].tolist(), eligible)
        return [self.task_names(unit.tasks) for unit in units]

    def preempt(self, name: str = "new", *spared: str) -> tuple[list[str], list[str]] | None:
        """Where the job goes, and the tasks that go for it."""
        done = preempt(self.work(name), self.board, self.victims, self.eligible(*spared))
        if done is None:
            return None
        evicted = [task for unit in done.victims for task in self.task_names(unit.tasks)]
        return self.names(seat.position for seat in done.seats), sorted(evicted)


def mask(bench: Workbench, *names: str) -> NDArray[np.bool_]:
    return np.isin(np.array(bench.nodes.names), names)
