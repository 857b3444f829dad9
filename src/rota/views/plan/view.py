"""A plan seen job by job, under the names that users know."""

from __future__ import annotations

from collections.abc import Mapping

from rota.model.calendar import PlannedStart
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.model.job import Job
from rota.model.node import NodeSpec
from rota.model.plan import Binding, Eviction, Plan
from rota.snapshot import Snapshot


class PlanView:
    def __init__(
        self, plan: Plan, snapshot: Snapshot, estimates: Mapping[JobId, Estimate] | None = None
    ) -> None:
        """`estimates`: None unless there is a history to learn from."""
        self.plan = plan
        self.estimates = estimates
        self._snapshot = snapshot
        self.bindings: dict[JobId, list[Binding]] = {}
        self.evictions: dict[JobId, list[Eviction]] = {}
        self.starts = {planned.job: planned for planned in plan.starts}
        for binding in sorted(plan.bindings, key=lambda one: (one.job, one.rank)):
            self.bindings.setdefault(binding.job, []).append(binding)
        for eviction in sorted(plan.evictions, key=lambda one: (one.job, one.rank)):
            self.evictions.setdefault(eviction.job, []).append(eviction)

    # -- names

    def job(self, job_id: JobId) -> Job:
        return self._snapshot.jobs[job_id].job

    def job_name(self, job_id: JobId, rank: int) -> str:
        """Of the job that the task belongs to. A pod of a gang is a job to those who made it."""
        job = self.job(job_id)
        return job.task_name(rank) if job.tasks_are_jobs else job_id

    def task_name(self, job_id: JobId, rank: int) -> str:
        return self.job(job_id).task_name(rank)

    def preemptor_name(self, eviction: Eviction) -> str | None:
        """Of a gang of pods, the first that takes the freed place, or else the first at all."""
        if not eviction.preemptor:
            return None
        bound = self.bindings.get(eviction.preemptor, [])
        here = [binding.rank for binding in bound if binding.node == eviction.node]
        rank = next(iter(here or [binding.rank for binding in bound]), 0)
        return self.job_name(eviction.preemptor, rank)

    def evictions_for(self, preemptor: JobId) -> list[Eviction]:
        return [one for evicted in self.evictions.values() for one in evicted if one.preemptor == preemptor]

    # -- what waits

    def waiting_ranks(self, job_id: JobId) -> list[int]:
        """Tasks that neither run nor start when the plan is carried out."""
        evicted = (eviction.rank for eviction in self.evictions.get(job_id, ()))
        bound = {binding.rank for binding in self.bindings.get(job_id, ())}
        return sorted({*self._snapshot.jobs[job_id].waiting_ranks(), *evicted} - bound)

    def waiting_names(self, job_id: JobId) -> list[str]:
        if self.job(job_id).tasks_are_jobs:
            return [self.job_name(job_id, rank) for rank in self.waiting_ranks(job_id)]
        return [job_id]

    def planned_nodes(self, planned: PlannedStart) -> dict[str, list[str]]:
        """By the names under which it waits, where its tasks are planned to start."""
        nodes: dict[str, list[str]] = {name: [] for name in self.waiting_names(planned.job)}
        for placement in sorted(planned.placements, key=lambda one: one.rank):
            nodes.setdefault(self.job_name(planned.job, placement.rank), []).append(placement.node)
        return nodes

    @property
    def asked_count(self) -> int:
        """How many tasks waited before the plan."""
        return self._snapshot.waiting.task_count

    @property
    def something_waits(self) -> bool:
        return bool(self.plan.waiting) or len(self.plan.bindings) < self.asked_count

    # -- nodes

    def node_of(self, job_id: JobId, rank: int) -> NodeName | None:
        """Where the task runs or will run."""
        if rank in self.waiting_ranks(job_id):
            return None
        here = (*self.bindings.get(job_id, ()), *self._snapshot.jobs[job_id].placements)
        return next((one.node for one in here if one.rank == rank), None)

    def node_spec(self, node: NodeName) -> NodeSpec:
        nodes = self._snapshot.nodes
        return nodes.specs[nodes.position[node]]

    def must_be_started(self, node: NodeName) -> bool:
        """Whether the node is so far only on offer."""
        nodes = self._snapshot.nodes
        return not bool(nodes.exists[nodes.position[node]])

    def startup_ms(self, node: NodeName) -> int:
        nodes = self._snapshot.nodes
        return int(nodes.startup_ms[nodes.position[node]])

    def used_nodes(self) -> list[NodeName]:
        return sorted({binding.node for binding in self.plan.bindings})
