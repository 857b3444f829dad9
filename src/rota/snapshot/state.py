"""The cluster as it changes, and frozen views of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, JobTemplate
from rota.model.node import Node, Offer
from rota.model.policy import NO_DEFAULTS, Defaults
from rota.model.task import TaskSpec
from rota.snapshot.admission import admit
from rota.snapshot.demand import Demand, demand_of, extended_names
from rota.snapshot.gpu import assign_devices, refresh_gpu_rows
from rota.snapshot.nodes import NodeColumns, build_columns
from rota.snapshot.rows import ResourceRows
from rota.snapshot.running import RunningColumns, RunningTask, build_running
from rota.snapshot.waiting import LaneKey, WaitingJobs

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What `decide` sees. Good until the state it was taken from changes: the waiting jobs are
    shared, not copied, so that a million of them cost nothing."""

    generation: int
    nodes: NodeColumns
    free: Int64s
    """[row, node] what running tasks leave"""
    gpu_free: Int32s
    """[node, device]"""
    running: RunningColumns
    waiting: WaitingJobs
    usage: tuple[TenantUsage, ...]
    jobs: dict[JobId, JobRecord]

    def demand(self, spec: TaskSpec) -> Demand:
        return demand_of(spec, self.nodes.index)


class ClusterState:
    """Takes records and changes one by one; `snapshot()` freezes what it has.

    A change of a job costs what that job costs. A change of a node makes the next snapshot build
    its columns anew: nodes change seldom, and a rebuild of 10,000 takes a fraction of a second.
    """

    def __init__(self, defaults: Defaults = NO_DEFAULTS) -> None:
        self._defaults = defaults
        self._admitted: dict[JobTemplate, JobTemplate] = {}
        self._nodes: dict[NodeName, Node] = {}
        self._offers: dict[str, Offer] = {}
        self._records: dict[JobId, JobRecord] = {}
        self._lane_of: dict[JobId, LaneKey] = {}
        self._running_ids: set[JobId] = set()
        self._waiting = WaitingJobs()
        self._usage: tuple[TenantUsage, ...] = ()
        self._generation = 0

    def load(self, records: ClusterRecords) -> None:
        for node in records.nodes:
            self.set_node(node)
        for offer in records.offers:
            self.set_offer(offer)
        for record in records.jobs:
            self.set_job(record)
        self.set_usage(records.usage)

    def set_node(self, node: Node) -> None:
        self._generation += 1
        self._nodes[node.name] = node

    def remove_node(self, name: NodeName) -> None:
        """What ran there is not the snapshot's concern: the caller says what became of it."""
        self._generation += 1
        del self._nodes[name]

    def set_offer(self, offer: Offer) -> None:
        self._generation += 1
        self._offers[offer.name] = offer

    def set_usage(self, usage: Iterable[TenantUsage]) -> None:
        self._generation += 1
        self._usage = tuple(usage)

    def set_job(self, record: JobRecord) -> None:
        """Adds the job or puts the new record in the place of the old one."""
        job_id = record.job.id
        if job_id in self._records:
            self.remove_job(job_id)
        self._generation += 1
        template = self._admit(record.job.template)
        if template is not record.job.template:
            record = replace(record, job=replace(record.job, template=template))
        self._records[job_id] = record
        if record.placements:
            self._running_ids.add(job_id)
        lane = self._waiting.add(record)
        if lane is not None:
            self._lane_of[job_id] = lane

    def remove_job(self, job_id: JobId) -> None:
        self._generation += 1
        record = self._records.pop(job_id)
        self._running_ids.discard(job_id)
        lane = self._lane_of.pop(job_id, None)
        if lane is not None:
            self._waiting.discard(record.job, lane)

    def record(self, job_id: JobId) -> JobRecord:
        return self._records[job_id]

    def _admit(self, template: JobTemplate) -> JobTemplate:
        admitted = self._admitted.get(template)
        if admitted is None:
            admitted = self._admitted[template] = admit(template, self._defaults)
        return admitted

    def snapshot(self) -> Snapshot:
        index = ResourceRows(self._extended_names())
        nodes = build_columns(self._nodes.values(), self._offers.values(), index, self._waiting.task_count)
        tasks = [
            RunningTask(self._records[job_id].job, placement)
            for job_id in sorted(self._running_ids)
            for placement in sorted(self._records[job_id].placements, key=lambda p: p.rank)
            if placement.node in nodes.position
        ]
        free, gpu_free, tasks = _occupy(nodes, tasks)
        return Snapshot(
            generation=self._generation,
            nodes=nodes,
            free=free,
            gpu_free=gpu_free,
            running=build_running(tasks, nodes.position),
            waiting=self._waiting,
            usage=self._usage,
            jobs=self._records,
        )

    def _extended_names(self) -> set[str]:
        names: set[str] = set()
        for node in self._nodes.values():
            names.update(name for name, _ in node.spec.capacity.extended)
        for offer in self._offers.values():
            names.update(name for name, _ in offer.spec.capacity.extended)
        for template in self._admitted.values():
            for group in template.groups:
                names |= extended_names(group.spec)
        return names


def snapshot_of(records: ClusterRecords, defaults: Defaults = NO_DEFAULTS) -> Snapshot:
    state = ClusterState(defaults)
    state.load(records)
    return state.snapshot()


def _occupy(nodes: NodeColumns, tasks: list[RunningTask]) -> tuple[Int64s, Int32s, list[RunningTask]]:
    """Subtracts what runs. A GPU task of which nobody said which devices it has is given some."""
    free = nodes.capacity.copy()
    gpu_free = nodes.gpu_capacity.copy()
    demands: dict[TaskSpec, Demand] = {}
    settled = []
    touched: set[int] = set()
    for task in tasks:
        spec = task.job.template.groups[task.job.group_of(task.placement.rank)].spec
        demand = demands.get(spec)
        if demand is None:
            demand = demands[spec] = demand_of(spec, nodes.index)
        at = nodes.position[task.placement.node]
        free[:, at] -= demand.take
        if demand.uses_gpu:
            devices = task.placement.gpu_devices or assign_devices(gpu_free[at], demand.gpu)
            gpu_free[at, list(devices)] -= demand.gpu.share_milli
            touched.add(at)
            task = RunningTask(task.job, replace(task.placement, gpu_devices=devices))
        settled.append(task)
    for at in sorted(touched):
        refresh_gpu_rows(free, gpu_free, at)
    return free, gpu_free, settled
