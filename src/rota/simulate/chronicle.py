"""Keeps track of a replay: of every job what became of it, and how full the cluster was when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rota.forecast.execution import Left, Started
from rota.forecast.virtual import VirtualCluster
from rota.model.calendar import PlannedStart
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, Placement
from rota.model.plan import EvictionCause, Plan, PluginFault
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.verdict import Verdict
from rota.model.workload import SimJob, Workload, cpu_milli_of
from rota.simulate.result import JobResult, Sample, SimResult, Stretch

_BY_OTHERS = (EvictionCause.PREEMPTED, EvictionCause.RECLAIMED)


@dataclass(eq=False, slots=True)
class _Story:
    """One job's, as far as it is known."""

    sim: SimJob
    start_ms: int | None = None
    end_ms: int | None = None
    cancelled: bool = False
    preemptions: int = 0
    promised_ms: int | None = None
    verdict: Verdict | None = None
    stretches: list[Stretch] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)


class Chronicle:
    def __init__(self) -> None:
        self._stories: dict[JobId, _Story] = {}
        self._samples: list[Sample] = []
        self._faults: dict[tuple[str, str, str], PluginFault] = {}
        self._cpu_milli = 0
        self._gpu_milli = 0
        self.over = 0
        """How many jobs won't run again."""

    # -- what happens

    def arrived(self, sim: SimJob) -> None:
        story = self._stories[sim.job.id] = _Story(sim)
        if sim.placements:
            story.start_ms = min(placement.started_ms for placement in sim.placements)
            self._count(sim.job, sim.placements, 1)

    def told(self, job_id: JobId, estimate: Estimate) -> None:
        self._stories[job_id].estimates.append(estimate)

    def promised(self, starts: Iterable[PlannedStart]) -> None:
        for planned in starts:
            story = self._stories.get(planned.job) if planned.promised else None
            if story is not None and story.promised_ms is None:
                story.promised_ms = planned.start_ms

    def started(self, started: Started) -> None:
        self._count(started.job, started.placements, 1)
        story = self._stories.get(started.job.id)
        if story is not None and story.start_ms is None:
            story.start_ms = min(placement.started_ms for placement in started.placements)

    def evicted(self, left: Left, plan: Plan, goes_on: bool) -> None:
        """`goes_on`: others of its tasks still run, or have ended well."""
        self._stopped(left, evicted=True)
        story = self._stories.get(left.job.id)
        if story is None:
            return
        causes = {eviction.cause for eviction in plan.evictions if eviction.job == left.job.id}
        story.preemptions += not causes.isdisjoint(_BY_OTHERS)
        if not left.is_over and not goes_on:
            story.start_ms = None

    def ended(self, left: Left) -> None:
        self._stopped(left, evicted=False)

    def cancelled(self, job_id: JobId) -> None:
        self._stories[job_id].cancelled = True
        self.over += 1

    def gave_up(self, job_ids: Iterable[JobId], verdict: Verdict) -> None:
        """These jobs never start."""
        for job_id in job_ids:
            story = self._stories.get(job_id)
            if story is not None:
                story.verdict = verdict
                self.over += 1

    def sampled(self, cluster: VirtualCluster) -> None:
        sample = Sample(
            cluster.now_ms, cluster.waiting_count, cluster.running_count, self._cpu_milli, self._gpu_milli
        )
        if self._samples and self._samples[-1].time_ms == sample.time_ms:
            self._samples.pop()
        self._samples.append(sample)

    def faulty(self, faults: Iterable[PluginFault]) -> None:
        for fault in faults:
            self._faults.setdefault((fault.plugin, fault.call, fault.error), fault)

    # -- what is known so far

    def start_ms(self, job_id: JobId) -> int | None:
        story = self._stories.get(job_id)
        return None if story is None else story.start_ms

    def is_cut(self, job_id: JobId) -> bool:
        """Whether its time limit is too short for it."""
        return job_id in self._stories and _is_cut(self._stories[job_id].sim)

    # -- what came of it all

    def result(
        self, workload: Workload, policy: str, seed: int, cluster: VirtualCluster, cycles: int
    ) -> SimResult:
        nodes = cluster.nodes.values()
        return SimResult(
            workload=workload.name,
            policy=policy,
            seed=seed,
            nodes=tuple(cluster.nodes),
            cpu_milli=sum(node.spec.capacity.cpu_milli for node in nodes),
            gpu_milli=sum(node.spec.gpus.count * WHOLE_GPU_MILLI for node in nodes),
            jobs=tuple(self._result_of(story, cluster) for story in self._stories.values()),
            samples=tuple(self._samples),
            cycles=cycles,
            calendar=cluster.calendar,
            epoch_ms=workload.epoch_ms,
            faults=tuple(self._faults.values()),
        )

    def _result_of(self, story: _Story, cluster: VirtualCluster) -> JobResult:
        sim, template = story.sim, story.sim.job.template
        record = cluster.record(sim.job.id)
        stretches = [
            *story.stretches,
            *_stretches(record.placements if record else (), cluster.now_ms, evicted=False),
        ]
        return JobResult(
            job=sim.job.id,
            queue=template.queue,
            project=template.project,
            user=template.user,
            tasks=template.task_count,
            cpu_milli=cpu_milli_of(template),
            gpu_milli=_gpu_milli_of(template),
            arrival_ms=sim.arrival_ms,
            run_ms=sim.run_ms,
            limit_ms=template.time_limit_ms,
            start_ms=story.start_ms,
            end_ms=story.end_ms,
            timed_out=story.end_ms is not None and _is_cut(sim),
            preemptions=story.preemptions,
            promised_ms=story.promised_ms,
            stretches=tuple(stretches),
            estimates=tuple(story.estimates),
            cancelled=story.cancelled,
            verdict=story.verdict,
        )

    # -- one step

    def _stopped(self, left: Left, evicted: bool) -> None:
        self._count(left.job, left.placements, -1)
        story = self._stories.get(left.job.id)
        if story is None:
            return
        story.stretches += _stretches(left.placements, left.at_ms, evicted)
        if left.is_over:
            story.end_ms = left.at_ms
            self.over += 1

    def _count(self, job: Job, placements: Iterable[Placement], sign: int) -> None:
        for placement in placements:
            spec = job.template.groups[job.group_of(placement.rank)].spec
            self._cpu_milli += sign * spec.requests.cpu_milli
            self._gpu_milli += sign * spec.gpu.total_milli


def _stretches(placements: Iterable[Placement], end_ms: int, evicted: bool) -> list[Stretch]:
    # A node that starts up may lose a task before it ever ran.
    return [
        Stretch(one.rank, one.node, one.started_ms, max(one.started_ms, end_ms), evicted)
        for one in placements
    ]


def _is_cut(sim: SimJob) -> bool:
    limit_ms = sim.job.template.time_limit_ms
    return limit_ms is not None and limit_ms < sim.run_ms


def _gpu_milli_of(template: JobTemplate) -> int:
    return sum(group.count * group.spec.gpu.total_milli for group in template.groups)
