"""The jobs and nodes of a virtual cluster, and what becomes of them when a plan is carried out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from rota.engine.start_timeout import has_timeouts, timeout_for
from rota.forecast import moments
from rota.forecast.timetable import Timetable
from rota.forecast.usage import Ledger, counts_usage
from rota.model.calendar import PlannedStart
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, Placement, Promise
from rota.model.node import Node, Offer
from rota.model.plan import Binding, Eviction, Waiting
from rota.model.policy import Policy
from rota.model.reasons import TOO_LATE
from rota.snapshot.defaults import assumed_for
from rota.snapshot.state import ClusterState


class Left(NamedTuple):
    """Tasks of a job that ran until then."""

    job: Job
    placements: tuple[Placement, ...]
    at_ms: int
    is_over: bool
    """Nothing of the job runs or waits any more."""


class Started(NamedTuple):
    """Tasks of a job that run from now on, or, on a node that has yet to start up, from then on."""

    job: Job
    placements: tuple[Placement, ...]


class Execution:
    """Keeps a state of its own, and tells the timetable when to look at it again."""

    def __init__(self, records: ClusterRecords, policy: Policy, timetable: Timetable) -> None:
        """Of the records without their jobs."""
        self.state = ClusterState(assumed_for(records, policy.defaults))
        self.state.load(replace(records, jobs=()))
        self.nodes = {node.name: node for node in records.nodes}
        self._policy = policy
        self._has_timeouts = has_timeouts(policy)
        self._timetable = timetable
        self._offers = {offer.name: offer for offer in records.offers}
        self._ledger = (
            Ledger(policy.fair_share, records.usage, policy.tenant_labels) if counts_usage(policy) else None
        )
        self._usage_changed = False
        self._run_ms: dict[JobId, int] = {}
        """Of the jobs that run or wait."""

    def __contains__(self, job_id: JobId) -> bool:
        """Whether it runs or waits."""
        return job_id in self._run_ms

    def add(self, record: JobRecord, run_ms: int) -> None:
        """Each of its tasks runs for so long, or until its time limit."""
        job = record.job
        limit_ms = job.template.time_limit_ms
        self._run_ms[job.id] = run_ms if limit_ms is None else min(run_ms, limit_ms)
        self.state.set_job(record)
        self._expect_ends(job.id, record.placements)

    def _expect_ends(self, job_id: JobId, placements: Iterable[Placement]) -> None:
        for started_ms in {placement.started_ms for placement in placements}:
            self._timetable.expect_end(job_id, started_ms, self._run_ms[job_id])

    def settle_usage(self) -> None:
        """What was charged since the last time becomes part of the state."""
        if self._ledger is not None and self._usage_changed:
            self.state.set_usage(self._ledger.usage())
            self._usage_changed = False

    def ending(self, job_id: JobId, started_ms: int) -> tuple[Placement, ...]:
        """The tasks that end with that entry; none if they were evicted before."""
        if job_id not in self._run_ms:
            return ()
        placements = self.state.record(job_id).placements
        return tuple(one for one in placements if one.started_ms == started_ms)

    def evict(self, evictions: Iterable[Eviction]) -> tuple[Left, ...]:
        by_job: dict[JobId, list[Eviction]] = {}
        for eviction in evictions:
            by_job.setdefault(eviction.job, []).append(eviction)
        return tuple(self._evict_from(self.state.record(job), some) for job, some in by_job.items())

    def _evict_from(self, record: JobRecord, evictions: list[Eviction]) -> Left:
        job = record.job
        if any(eviction.ends_job for eviction in evictions):
            everybody = {placement.rank for placement in record.placements}
            return self._leave(
                record, everybody, tuple(range(job.template.task_count)), self._timetable.now_ms
            )
        by = dict.fromkeys((*job.preempted_by, *(one.preemptor for one in evictions if one.preemptor)))
        if len(by) > len(job.preempted_by):
            record = replace(record, job=replace(job, preempted_by=tuple(by)))
        return self._leave(
            record, {eviction.rank for eviction in evictions}, record.done, self._timetable.now_ms
        )

    def end(self, record: JobRecord, ended: Iterable[Placement], at_ms: int) -> Left:
        ranks = {placement.rank for placement in ended}
        return self._leave(record, ranks, tuple(sorted(ranks.union(record.done))), at_ms)

    def _leave(self, record: JobRecord, ranks: set[int], done: tuple[int, ...], at_ms: int) -> Left:
        """The tasks of these ranks stop; then those of `done` are never to run again."""
        job = record.job
        leaving = tuple(one for one in record.placements if one.rank in ranks)
        self._timetable.is_changed = True
        self._charge(job, leaving, at_ms)
        is_over = len(done) == job.template.task_count
        if is_over:
            self.remove(job.id)
        else:
            staying = tuple(one for one in record.placements if one.rank not in ranks)
            self.state.set_job(replace(record, placements=staying, done=done))
        return Left(job, leaving, at_ms, is_over)

    def _charge(self, job: Job, placements: Iterable[Placement], at_ms: int) -> None:
        if self._ledger is None:
            return
        self._usage_changed = True
        for placement in placements:
            spec = job.template.groups[job.group_of(placement.rank)].spec
            self._ledger.stopped(job.template, spec, max(0, at_ms - placement.started_ms), at_ms)

    def bind(self, bindings: Iterable[Binding]) -> tuple[Started, ...]:
        by_job: dict[JobId, list[Binding]] = {}
        for binding in bindings:
            by_job.setdefault(binding.job, []).append(binding)
        opened: dict[NodeName, tuple[NodeName, int]] = {}
        started = []
        for job_id, bound in by_job.items():
            placements = tuple(self._placement(binding, opened) for binding in bound)
            started.append(self._start(self.state.record(job_id), placements))
        return tuple(started)

    def _start(self, record: JobRecord, placements: tuple[Placement, ...]) -> Started:
        job = record.job
        self.state.set_job(replace(record, placements=record.placements + placements, promise=None))
        self._expect_ends(job.id, placements)
        left_alone_ms = moments.least_run_ms(job.template, self._policy)
        if left_alone_ms:
            self._timetable.look_at(self._timetable.now_ms + left_alone_ms)
        return Started(job, placements)

    def _placement(self, binding: Binding, opened: dict[NodeName, tuple[NodeName, int]]) -> Placement:
        if binding.node in self.nodes:
            return Placement(binding.rank, binding.node, self._timetable.now_ms, binding.gpu_devices)
        if binding.node not in opened:
            opened[binding.node] = self._open(self._offers[binding.node.rpartition("#")[0]])
        node, ready_ms = opened[binding.node]
        return Placement(binding.rank, node, ready_ms, binding.gpu_devices)

    def _open(self, offer: Offer) -> tuple[NodeName, int]:
        """An offered node that got a task exists from then on, under a name of its own."""
        left = replace(offer, limit=offer.limit - 1)
        self._offers[offer.name] = left
        self.state.set_offer(left)
        number = len(self.nodes)
        while (name := NodeName(f"{offer.name}-{number}")) in self.nodes:
            number += 1
        self.nodes[name] = Node(name, offer.spec)
        self.state.set_node(self.nodes[name])
        return name, self._timetable.now_ms + offer.startup_ms

    def promise(self, starts: Iterable[PlannedStart]) -> None:
        for planned in starts:
            if not planned.promised:
                continue
            record = self.state.record(planned.job)
            promise = Promise(planned.start_ms, planned.placements)
            if record.promise != promise:
                self.state.set_job(replace(record, promise=promise))
                self._timetable.look_at(planned.start_ms, planned.job)

    def fail(self, waiting: Iterable[Waiting]) -> tuple[JobId, ...]:
        failed = [job for entry in waiting for job in self._late(entry)]
        for job in failed:
            self.remove(job)
        return tuple(failed)

    def _late(self, entry: Waiting) -> list[JobId]:
        is_late = any(isinstance(refusal.reason, TOO_LATE) for refusal in entry.verdict.refusals)
        if not is_late and not self._has_timeouts:
            return []
        records = [self.state.record(job) for job in entry.jobs]
        return [
            one.job.id for one in records if not one.placements and (is_late or self._is_timed_out(one.job))
        ]

    def _is_timed_out(self, job: Job) -> bool:
        """Whether its queue or scheduler lets it wait no longer for its first start."""
        if job.preempted_by or job.retries:
            return False
        timeout = timeout_for(job.template, self._policy.schedulers)
        since_ms = max(job.submitted_ms, job.start_after_ms)
        return timeout is not None and self._timetable.now_ms > since_ms + timeout.within_ms

    def remove(self, job_id: JobId) -> None:
        self.state.remove_job(job_id)
        del self._run_ms[job_id]
