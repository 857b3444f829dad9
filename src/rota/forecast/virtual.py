"""A cluster under a virtual clock: `decide` is called as in production, and its plans are carried out.

    arrive ──► decide_now ──► advance ──► decide_now ──► …
    a job      the plan is    tasks end
    comes in   carried out    on the way

Every task of a job runs for as long as the caller says, or until its time limit. Who knows the true run
times replays history; who has only learnt some looks ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace

from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.forecast import moments
from rota.forecast.usage import Ledger, counts_usage
from rota.model.calendar import PlannedStart
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, Placement, Promise
from rota.model.node import Node, Offer
from rota.model.plan import Binding, Eviction, Plan, Waiting
from rota.model.policy import Policy
from rota.model.reasons import TOO_LATE
from rota.model.workload import ENDLESS_MS
from rota.snapshot.state import ClusterState, RunTimes, Snapshot

_NEXT_CYCLE_MS = 1
"""After evictions: those who had to go are asked again, and time moves on."""
_FIRST_LOOK_MS = 1000


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


class Decided(NamedTuple):
    plan: Plan
    evicted: tuple[Left, ...]
    started: tuple[Started, ...]
    failed: tuple[JobId, ...]
    """Jobs that weren't started in time, and are gone."""


class VirtualCluster:
    """Keeps a state of its own: whatever becomes of it, the records it was made from stay as they are. More
    than twenty methods: one or two for each thing that may happen in a cluster."""

    def __init__(
        self,
        records: ClusterRecords,
        policy: Policy,
        plugins: Plugins,
        now_ms: int,
        run_ms_of: Callable[[Job], int],
    ) -> None:
        """`run_ms_of`: how long, from its start, each task of a job of the records runs. One that
        should have ended before now ends now."""
        self.now_ms = now_ms
        self._policy = policy
        self._plugins = plugins
        self._state = ClusterState(policy.defaults)
        self._state.load(replace(records, jobs=()))
        self._offers = {offer.name: offer for offer in records.offers}
        self.nodes = {node.name: node for node in records.nodes}
        self._taints = moments.evicting_taints(records.nodes)
        self._ledger = Ledger(policy.fair_share, records.usage) if counts_usage(policy) else None
        self._usage_changed = False
        self._run_ms: dict[JobId, int] = {}
        """Of the jobs that run or wait."""
        self._ends: list[tuple[int, JobId, int]] = []
        """A heap: when, of which job the tasks that started when."""
        self._looks: list[tuple[int, JobId]] = []
        """A heap: when it is worth deciding anew, if that job still waits ("": if any does)."""
        self._edges: list[int] = []
        """A heap: when it is worth deciding anew though nothing may wait, since what runs may have to go."""
        for edge_ms in moments.of_calendar(records.calendar):
            self._add_edge(edge_ms)
        self.calendar = records.calendar
        self._edge_passed = True
        self._planned_ms: int | None = None
        self._patience_ms = _FIRST_LOOK_MS
        self._is_changed = True
        for record in records.jobs:
            self.arrive(record, run_ms_of(record.job))

    # -- what happens to it

    def arrive(self, record: JobRecord, run_ms: int) -> None:
        """A job comes in, to wait or, if it has placements, running already."""
        job = record.job
        limit_ms = job.template.time_limit_ms
        self._run_ms[job.id] = run_ms if limit_ms is None else min(run_ms, limit_ms)
        self._state.set_job(record)
        self._is_changed = True
        for started_ms in {placement.started_ms for placement in record.placements}:
            self._expect_end(job.id, started_ms)
        for look_ms in moments.of_waiting(job, self._policy):
            self._look_at(look_ms, job.id)
        if record.promise is not None:
            self._look_at(record.promise.start_ms, job.id)
        for edge_ms in moments.of_taints(job.template, self._taints):
            self._add_edge(edge_ms)

    def withdraw(self, job_id: JobId) -> None:
        """A job that waits leaves."""
        self._remove(job_id)
        self._is_changed = True

    def learn(self, run_times: RunTimes) -> None:
        """How long jobs ran is learnt from elsewhere."""
        self._state.set_run_times(run_times)

    # -- what it holds

    def record(self, job_id: JobId) -> JobRecord | None:
        """None: it is over, or never came."""
        return self._state.record(job_id) if job_id in self._run_ms else None

    @property
    def waiting_count(self) -> int:
        """Jobs of which anything waits."""
        return self._state.waiting_count

    @property
    def running_count(self) -> int:
        """Jobs of which anything runs."""
        return self._state.running_count

    @property
    def is_due(self) -> bool:
        """Whether there is anything to decide on."""
        return self._edge_passed or self._state.waiting_count > 0

    def records(self) -> ClusterRecords:
        """All that it holds: what a plan is made from, but for the run times that were learnt."""
        self._settle_usage()
        return self._state.records()

    def snapshot(self) -> Snapshot:
        self._settle_usage()
        return self._state.snapshot()

    def _settle_usage(self) -> None:
        if self._ledger is not None and self._usage_changed:
            self._state.set_usage(self._ledger.usage())
            self._usage_changed = False

    # -- time

    def next_ms(self) -> int | None:
        """The next moment at which something ends or may be decided differently; None: never."""
        while self._ends and not self._ending(*self._ends[0][1:]):
            heappop(self._ends)
        while self._looks and not self._concerns_waiting(self._looks[0][1]):
            heappop(self._looks)
        found = [heap[0][0] for heap in (self._ends, self._looks) if heap]
        found += self._edges[:1]
        if self._planned_ms is not None:
            found.append(self._planned_ms)
        return max(self.now_ms, min(found)) if found else None

    def advance(self, to_ms: int) -> list[Left]:
        """Goes on to that moment; tells what ended by itself on the way."""
        left = []
        while self._ends and self._ends[0][0] <= to_ms:
            end_ms, job_id, started_ms = heappop(self._ends)
            ended = self._ending(job_id, started_ms)
            if ended:
                left.append(self._end(self._state.record(job_id), ended, max(self.now_ms, end_ms)))
        while self._looks and self._looks[0][0] <= to_ms:
            heappop(self._looks)
        while self._edges and self._edges[0] <= to_ms:
            heappop(self._edges)
            self._edge_passed = True
        if self._planned_ms is not None and self._planned_ms <= to_ms:
            self._planned_ms = None
        self.now_ms = to_ms
        return left

    def step(self) -> Decided | None:
        """Goes on to the next moment and decides; None: nothing ever happens again."""
        next_ms = self.next_ms()
        if next_ms is None:
            return None
        self.advance(next_ms)
        return self.decide_now()

    def decide_now(self) -> Decided:
        return self.carry_out(self.plan(self.snapshot()))

    def plan(self, snapshot: Snapshot) -> Plan:
        """What is to be done now. Nothing is done yet."""
        return decide(snapshot, self._policy, self.now_ms, self._plugins)

    def carry_out(self, plan: Plan) -> Decided:
        """Does what was planned for now."""
        evicted = self._evict(plan.evictions)
        started = self._bind(plan.bindings)
        self._promise(plan.starts)
        failed = self._fail(plan.waiting)
        self._edge_passed = False
        if plan.evictions:
            self._look_at(self.now_ms + _NEXT_CYCLE_MS, JobId(""))
        self._plan_look(plan)
        return Decided(plan, evicted, started, failed)

    def _plan_look(self, plan: Plan) -> None:
        """Jobs may be able to start when they are planned to, though nothing else happens then. Where
        nothing comes of it, since plans by learnt run times slip, it is tried less and less often."""
        if self._is_changed or plan.bindings or plan.evictions:
            self._patience_ms = _FIRST_LOOK_MS
        else:
            self._patience_ms *= 2
        self._is_changed = False
        later = next((one.start_ms for one in plan.starts if one.start_ms > self.now_ms), ENDLESS_MS)
        look_ms = max(later, self.now_ms + self._patience_ms)
        self._planned_ms = look_ms if look_ms < ENDLESS_MS and later < ENDLESS_MS else None

    def _look_at(self, time_ms: int, job_id: JobId) -> None:
        if self.now_ms < time_ms < ENDLESS_MS:
            heappush(self._looks, (time_ms, job_id))

    def _add_edge(self, time_ms: int) -> None:
        if self.now_ms < time_ms < ENDLESS_MS:
            heappush(self._edges, time_ms)

    def _expect_end(self, job_id: JobId, started_ms: int) -> None:
        end_ms = started_ms + self._run_ms[job_id]
        if end_ms < ENDLESS_MS:
            heappush(self._ends, (end_ms, job_id, started_ms))

    def _ending(self, job_id: JobId, started_ms: int) -> tuple[Placement, ...]:
        """The tasks that end with that entry; none if they were evicted before."""
        if job_id not in self._run_ms:
            return ()
        placements = self._state.record(job_id).placements
        return tuple(one for one in placements if one.started_ms == started_ms)

    def _concerns_waiting(self, job_id: JobId) -> bool:
        return not job_id or self._state.is_waiting(job_id)

    # -- carrying out a plan

    def _evict(self, evictions: Iterable[Eviction]) -> tuple[Left, ...]:
        by_job: dict[JobId, list[Eviction]] = {}
        for eviction in evictions:
            by_job.setdefault(eviction.job, []).append(eviction)
        return tuple(self._evict_from(self._state.record(job), some) for job, some in by_job.items())

    def _evict_from(self, record: JobRecord, evictions: list[Eviction]) -> Left:
        job = record.job
        if any(eviction.ends_job for eviction in evictions):
            everybody = {placement.rank for placement in record.placements}
            return self._leave(record, everybody, tuple(range(job.template.task_count)), self.now_ms)
        by = dict.fromkeys((*job.preempted_by, *(one.preemptor for one in evictions if one.preemptor)))
        if len(by) > len(job.preempted_by):
            record = replace(record, job=replace(job, preempted_by=tuple(by)))
        return self._leave(record, {eviction.rank for eviction in evictions}, record.done, self.now_ms)

    def _end(self, record: JobRecord, ended: Iterable[Placement], at_ms: int) -> Left:
        ranks = {placement.rank for placement in ended}
        return self._leave(record, ranks, tuple(sorted(ranks.union(record.done))), at_ms)

    def _leave(self, record: JobRecord, ranks: set[int], done: tuple[int, ...], at_ms: int) -> Left:
        """The tasks of these ranks stop; then those of `done` are never to run again."""
        job = record.job
        leaving = tuple(one for one in record.placements if one.rank in ranks)
        self._is_changed = True
        self._charge(job, leaving, at_ms)
        is_over = len(done) == job.template.task_count
        if is_over:
            self._remove(job.id)
        else:
            staying = tuple(one for one in record.placements if one.rank not in ranks)
            self._state.set_job(replace(record, placements=staying, done=done))
        return Left(job, leaving, at_ms, is_over)

    def _charge(self, job: Job, placements: Iterable[Placement], at_ms: int) -> None:
        if self._ledger is None:
            return
        self._usage_changed = True
        for placement in placements:
            spec = job.template.groups[job.group_of(placement.rank)].spec
            self._ledger.stopped(job.template, spec, max(0, at_ms - placement.started_ms), at_ms)

    def _bind(self, bindings: Iterable[Binding]) -> tuple[Started, ...]:
        by_job: dict[JobId, list[Binding]] = {}
        for binding in bindings:
            by_job.setdefault(binding.job, []).append(binding)
        opened: dict[NodeName, tuple[NodeName, int]] = {}
        started = []
        for job_id, bound in by_job.items():
            placements = tuple(self._placement(binding, opened) for binding in bound)
            started.append(self._start(self._state.record(job_id), placements))
        return tuple(started)

    def _start(self, record: JobRecord, placements: tuple[Placement, ...]) -> Started:
        job = record.job
        self._state.set_job(replace(record, placements=record.placements + placements, promise=None))
        for started_ms in {placement.started_ms for placement in placements}:
            self._expect_end(job.id, started_ms)
        left_alone_ms = moments.least_run_ms(job.template, self._policy)
        if left_alone_ms:
            self._look_at(self.now_ms + left_alone_ms, JobId(""))
        return Started(job, placements)

    def _placement(self, binding: Binding, opened: dict[NodeName, tuple[NodeName, int]]) -> Placement:
        if binding.node in self.nodes:
            return Placement(binding.rank, binding.node, self.now_ms, binding.gpu_devices)
        if binding.node not in opened:
            opened[binding.node] = self._open(self._offers[binding.node.rpartition("#")[0]])
        node, ready_ms = opened[binding.node]
        return Placement(binding.rank, node, ready_ms, binding.gpu_devices)

    def _open(self, offer: Offer) -> tuple[NodeName, int]:
        """An offered node that got a task exists from then on, under a name of its own."""
        left = replace(offer, limit=offer.limit - 1)
        self._offers[offer.name] = left
        self._state.set_offer(left)
        number = len(self.nodes)
        while (name := NodeName(f"{offer.name}-{number}")) in self.nodes:
            number += 1
        self.nodes[name] = Node(name, offer.spec)
        self._state.set_node(self.nodes[name])
        return name, self.now_ms + offer.startup_ms

    def _promise(self, starts: Iterable[PlannedStart]) -> None:
        for planned in starts:
            if not planned.promised:
                continue
            record = self._state.record(planned.job)
            promise = Promise(planned.start_ms, planned.placements)
            if record.promise != promise:
                self._state.set_job(replace(record, promise=promise))
                self._look_at(planned.start_ms, planned.job)

    def _fail(self, waiting: Iterable[Waiting]) -> tuple[JobId, ...]:
        failed = [
            job
            for entry in waiting
            if any(isinstance(refusal.reason, TOO_LATE) for refusal in entry.verdict.refusals)
            for job in entry.jobs
            if not self._state.record(job).placements
        ]
        for job in failed:
            self._remove(job)
        return tuple(failed)

    def _remove(self, job_id: JobId) -> None:
        self._state.remove_job(job_id)
        del self._run_ms[job_id]
