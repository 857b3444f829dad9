"""Whether the resources for a decision are still free, counted again when it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rota.control.errors import Conflict
from rota.model.ids import JobId
from rota.model.job import Placement
from rota.model.plan import Binding, Eviction
from rota.snapshot import rows
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.occupancy import Occupancy
from rota.snapshot.state import ClusterState

_BY_DEVICE = frozenset((rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST))
"""Rows that follow from the devices, which are looked at one by one."""


class Outdated(Conflict):
    """It was decided on something that has changed. The next decision sees it as it is."""


class Room:
    """What is left on the nodes of a plan after the commands tried so far. After a commit everything is
    counted again."""

    def __init__(self, cluster: Callable[[], ClusterState]) -> None:
        """`cluster`: as it is at the moment."""
        self._cluster = cluster
        self._occupancy: Occupancy | None = None
        self._generation = -1
        self._left: dict[int, tuple[Int64s, Int32s]] = {}
        """By position: rows and devices."""
        self._moves: dict[JobId, list[tuple[int, Demand, tuple[int, ...], int]]] = {}
        """Commands that were tried and not committed yet. A command may be tried twice."""

    def forget(self, job_id: JobId) -> None:
        self._now()
        for at, demand, devices, sign in self._moves.pop(job_id, ()):
            self._move(at, demand, devices, -sign)

    def take(self, job_id: JobId, bindings: Sequence[Binding]) -> None:
        """All of it, or Outdated and nothing."""
        nodes, cluster = self._now().nodes, self._cluster()
        if not cluster.has_job(job_id):
            raise Outdated(f"job {job_id} didn't wait for room all the time")
        record = cluster.record(job_id)
        moves = self._moves[job_id] = []
        for one in bindings:
            at = nodes.position[one.node]
            demand = nodes.demand(record.job.template.groups[record.job.group_of(one.rank)].spec)
            moves.append((at, demand, one.gpu_devices, 1))
            self._move(*moves[-1])
            if not self._holds(at, demand, one.gpu_devices):
                self.forget(job_id)
                raise Outdated(f"what was free on node {one.node} when this was decided is taken")

    def give_back(self, job_id: JobId, evictions: Sequence[Eviction]) -> None:
        nodes, cluster, moves = self._now().nodes, self._cluster(), []
        if cluster.has_job(job_id):
            record = cluster.record(job_id)
            placed: dict[int, Placement] = {one.rank: one for one in record.placements}
            for eviction in evictions:
                there = placed.get(eviction.rank)
                if there is not None and there.node in nodes.position:
                    demand = nodes.demand(record.job.template.groups[record.job.group_of(there.rank)].spec)
                    moves.append((nodes.position[there.node], demand, there.gpu_devices, -1))
                    self._move(*moves[-1])
        self._moves[job_id] = moves

    def _now(self) -> Occupancy:
        cluster = self._cluster()
        if self._occupancy is None or self._generation != cluster.generation:
            self._occupancy, self._generation = cluster.occupancy(), cluster.generation
            self._left.clear()
            self._moves.clear()
        return self._occupancy

    def _move(self, at: int, demand: Demand, devices: tuple[int, ...], sign: int) -> None:
        free, gpu_free = self._at(at)
        free -= sign * demand.take
        for device in devices:
            gpu_free[device] -= sign * demand.gpu.share_milli

    def _at(self, at: int) -> tuple[Int64s, Int32s]:
        left = self._left.get(at)
        if left is None:
            occupancy = self._now()
            left = self._left[at] = occupancy.free[:, at].copy(), occupancy.gpu_free[at].copy()
        return left

    def _holds(self, at: int, demand: Demand, devices: tuple[int, ...]) -> bool:
        """Whether there is no less than nothing left of anything that the task asks for."""
        free, gpu_free = self._at(at)
        return all(free[row] >= 0 for row, _ in demand.asked if row not in _BY_DEVICE) and all(
            gpu_free[device] >= 0 for device in devices
        )
