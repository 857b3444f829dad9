"""Replays a workload: jobs arrive as they did and run for as long as they did; the engine decides.

Simultaneous events are one cycle, and where nothing waits there is none. The engine is told of a job when
it arrives and of its true run time when it ends, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from rota.engine.plugin import Plugins
from rota.forecast.execution import Left
from rota.forecast.virtual import VirtualCluster
from rota.model.cluster import ClusterRecords
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.verdict import Kind
from rota.model.workload import ENDLESS_MS, SimJob, Workload
from rota.simulate.chronicle import Chronicle
from rota.simulate.epoch import since
from rota.simulate.result import SimResult
from rota.snapshot.state import RunTimes, Snapshot

Progress = Callable[[int], None]
"""Is told how many jobs of the workload are over."""


class Estimator(Protocol):
    """Tells users when their jobs will start, and learns from what it is told."""

    def waits(self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan) -> Estimate | None:
        """What the user of a job that came in is told if the plan made from this snapshot doesn't start
        it."""
        ...

    def started(self, job: Job, now_ms: int) -> None:
        """Tasks of it start: its first, others later on, or all of them again after an eviction."""
        ...

    def ended(self, job: Job, run_ms: int, now_ms: int, completed: bool) -> None:
        """The job is over. Not completed: it was cut at its time limit, or ended for maintenance."""
        ...

    def withdrawn(self, job_id: JobId) -> None:
        """It was cancelled or refused before it started."""
        ...

    def run_times(self, template: JobTemplate) -> tuple[int, ...]:
        """What the engine plans with; see `RunTimes`."""
        ...


class Recorder(Protocol):
    def decided(
        self, records: ClusterRecords, run_times: RunTimes, policy: Policy, now_ms: int, plan: Plan
    ) -> None:
        """One cycle: all that its plan was made from, and the plan."""
        ...


def simulate(
    workload: Workload,
    records: ClusterRecords,
    policy: Policy,
    plugins: Plugins,
    *,
    name: str,
    seed: int,
    every_ms: int = 0,
    progress: Progress | None = None,
    estimator: Estimator | None = None,
    recorder: Recorder | None = None,
) -> SimResult:
    """`records`: the cluster without jobs; its times are real ones, those of the result count from the
    beginning of the workload. `name`: the policy's; `seed`: what the workload was changed with.
    `every_ms`: there is a cycle at most so often, as in a production loop."""
    replay = _Replay(workload, records, policy, plugins, every_ms, estimator, recorder)
    replay.run(progress or (lambda _: None))
    return replay.chronicle.result(workload, name, seed, replay.cluster, replay.cycles)


class _Replay:
    def __init__(
        self,
        workload: Workload,
        records: ClusterRecords,
        policy: Policy,
        plugins: Plugins,
        every_ms: int,
        estimator: Estimator | None,
        recorder: Recorder | None,
    ) -> None:
        self._jobs = workload.jobs
        self._policy = policy
        self._every_ms = every_ms
        self._estimator = estimator
        self._recorder = recorder
        self._run_times: RunTimes = estimator.run_times if estimator else _nothing_learnt
        start_ms = workload.jobs[0].arrival_ms if workload.jobs else 0
        if records.jobs or records.conditional:
            raise ValueError("the jobs of a replay are those of its workload")
        cluster = since(workload.epoch_ms, records)
        self.cluster = VirtualCluster(cluster, policy, plugins, start_ms, lambda _: ENDLESS_MS)
        self.cluster.learn(self._run_times)
        self.chronicle = Chronicle()
        self.cycles = 0
        self._arrived = 0
        self._cancellations: list[tuple[int, JobId]] = []
        """A heap."""
        self._untold: list[JobId] = []
        """Jobs that came in since the last cycle."""
        self._is_cycle_pending = False
        self._last_cycle_ms: int | None = None
        self._last_plan = Plan()

    def run(self, progress: Progress) -> None:
        while True:
            event_ms = self._next_event_ms()
            if self._is_cycle_pending and (event_ms is None or self._cycle_ms() < event_ms):
                self._cycle()
            elif event_ms is not None:
                self._go_on(event_ms)
            else:
                break
            progress(self.chronicle.over)
        for entry in self._last_plan.waiting:
            self.chronicle.gave_up(filter(self._is_idle, entry.jobs), entry.verdict)

    # -- time

    def _next_event_ms(self) -> int | None:
        found = [at_ms for at_ms, _ in self._cancellations[:1]]
        if self._arrived < len(self._jobs):
            found.append(self._jobs[self._arrived].arrival_ms)
        next_ms = self.cluster.next_ms()
        if next_ms is not None:
            found.append(next_ms)
        return min(found, default=None)

    def _cycle_ms(self) -> int:
        """When a cycle can be held for what has happened."""
        if self._last_cycle_ms is None:
            return self.cluster.now_ms
        return max(self.cluster.now_ms, self._last_cycle_ms + self._every_ms)

    def _go_on(self, to_ms: int) -> None:
        for left in self.cluster.advance(to_ms):
            self._end(left)
        while self._cancellations and self._cancellations[0][0] <= to_ms:
            self._cancel(heappop(self._cancellations)[1])
        while self._arrived < len(self._jobs) and self._jobs[self._arrived].arrival_ms <= to_ms:
            self._arrive(self._jobs[self._arrived])
            self._arrived += 1
        self._is_cycle_pending = self.cluster.is_due
        self.chronicle.sampled(self.cluster)

    def _cycle(self) -> None:
        cluster, chronicle = self.cluster, self.chronicle
        cluster.advance(self._cycle_ms())
        self._is_cycle_pending = False
        self._last_cycle_ms = cluster.now_ms
        self.cycles += 1
        snapshot = cluster.snapshot()
        plan = self._last_plan = cluster.plan(snapshot)
        self._tell(snapshot, plan)
        if self._recorder is not None:
            self._recorder.decided(cluster.records(), self._run_times, self._policy, cluster.now_ms, plan)
        decided = cluster.carry_out(plan)
        for left in decided.evicted:
            chronicle.evicted(left, plan, goes_on=not self._is_idle(left.job.id))
            if left.is_over:
                self._tell_end(left, completed=False)
        for started in decided.started:
            chronicle.started(started)
            if self._estimator is not None:
                self._estimator.started(started.job, cluster.now_ms)
        chronicle.promised(plan.starts)
        chronicle.faulty(plan.faults)
        self._refuse(plan)
        chronicle.sampled(cluster)

    # -- jobs

    def _tell(self, snapshot: Snapshot, plan: Plan) -> None:
        """Those who came in since the last cycle and have to wait are told how long."""
        untold, self._untold = self._untold, []
        if self._estimator is None:
            return
        started = {binding.job for binding in plan.bindings}
        for job_id in untold:
            # As it was admitted: so the engine will ask for its run times.
            record = self.cluster.record(job_id)
            if record is None or record.placements or job_id in started:
                continue
            estimate = self._estimator.waits(snapshot, self._policy, self.cluster.now_ms, record.job, plan)
            if estimate is not None:
                self.chronicle.told(job_id, estimate)

    def _arrive(self, sim: SimJob) -> None:
        self.cluster.arrive(JobRecord(sim.job, sim.placements), sim.run_ms)
        self.chronicle.arrived(sim)
        if sim.cancelled_waiting and sim.waited_ms is not None:
            heappush(self._cancellations, (sim.arrival_ms + sim.waited_ms, sim.job.id))
        self._untold.append(sim.job.id)

    def _end(self, left: Left) -> None:
        self.chronicle.ended(left)
        if left.is_over:
            self._tell_end(left, completed=not self.chronicle.is_cut(left.job.id))

    def _tell_end(self, left: Left, completed: bool) -> None:
        start_ms = self.chronicle.start_ms(left.job.id)
        if self._estimator is not None and start_ms is not None:
            self._estimator.ended(left.job, left.at_ms - start_ms, left.at_ms, completed)

    def _cancel(self, job_id: JobId) -> None:
        if self._is_idle(job_id):
            self.cluster.withdraw(job_id)
            self.chronicle.cancelled(job_id)
            self._tell_withdrawn(job_id)

    def _tell_withdrawn(self, job_id: JobId) -> None:
        if self._estimator is not None:
            self._estimator.withdrawn(job_id)

    def _refuse(self, plan: Plan) -> None:
        """Jobs that can never start leave: nobody would keep them in the queue."""
        for entry in plan.waiting:
            if entry.verdict.kind is Kind.NEVER:
                for job_id in filter(self._is_idle, entry.jobs):
                    self.cluster.withdraw(job_id)
                gone = [job_id for job_id in entry.jobs if self.cluster.record(job_id) is None]
                self.chronicle.gave_up(gone, entry.verdict)
                for job_id in gone:
                    self._tell_withdrawn(job_id)

    def _is_idle(self, job_id: JobId) -> bool:
        """Whether it is there and nothing of it has run, or all that has must run again."""
        record = self.cluster.record(job_id)
        return record is not None and not record.placements and not record.done


def _nothing_learnt(_: JobTemplate) -> tuple[int, ...]:
    return ()
