"""A cluster under a virtual clock: `decide` is called as in production, and its plans are carried out.

    arrive ──► decide_now ──► advance ──► decide_now ──► …
    a job      the plan is    tasks end
    comes in   carried out    on the way

Every task of a job runs for as long as the caller says, or until its time limit. Who knows the true run
times replays history; who has only learnt some looks ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.forecast import moments
from rota.forecast.execution import Execution, Left, Started
from rota.forecast.timetable import Timetable
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.state import RunTimes, Snapshot

_NEXT_CYCLE_MS = 1
"""After evictions: those who had to go are asked again, and time moves on."""


class Decided(NamedTuple):
    plan: Plan
    evicted: tuple[Left, ...]
    started: tuple[Started, ...]
    failed: tuple[JobId, ...]
    """Jobs that weren't started in time, and are gone."""


class VirtualCluster:
    """Keeps a state of its own: whatever becomes of it, the records it was made from stay as they are."""

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
        self._policy = policy
        self._plugins = plugins
        self._timetable = Timetable(now_ms)
        self._execution = Execution(records, policy, self._timetable)
        self._state = self._execution.state
        self._taints = moments.evicting_taints(records.nodes)
        for edge_ms in moments.of_calendar(records.calendar):
            self._timetable.add_edge(edge_ms)
        self.calendar = records.calendar
        self._edge_passed = True
        for record in records.jobs:
            self.arrive(record, run_ms_of(record.job))

    # -- what happens to it

    def arrive(self, record: JobRecord, run_ms: int) -> None:
        """A job comes in, to wait or, if it has placements, running already."""
        job, timetable = record.job, self._timetable
        self._execution.add(record, run_ms)
        timetable.is_changed = True
        for look_ms in moments.of_waiting(job, self._policy):
            timetable.look_at(look_ms, job.id)
        if record.promise is not None:
            timetable.look_at(record.promise.start_ms, job.id)
        for edge_ms in moments.of_taints(job.template, self._taints):
            timetable.add_edge(edge_ms)

    def withdraw(self, job_id: JobId) -> None:
        """A job that waits leaves."""
        self._execution.remove(job_id)
        self._timetable.is_changed = True

    def learn(self, run_times: RunTimes) -> None:
        """How long jobs ran is learnt from elsewhere."""
        self._state.set_run_times(run_times)

    # -- what it holds

    @property
    def now_ms(self) -> int:
        return self._timetable.now_ms

    @property
    def nodes(self) -> Mapping[NodeName, Node]:
        """Also those that were offered, and opened since."""
        return self._execution.nodes

    def record(self, job_id: JobId) -> JobRecord | None:
        """None: it is over, or never came."""
        return self._state.record(job_id) if job_id in self._execution else None

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
        self._execution.settle_usage()
        return self._state.records()

    def snapshot(self) -> Snapshot:
        self._execution.settle_usage()
        return self._state.snapshot()

    # -- time

    def next_ms(self) -> int | None:
        """The next moment at which something ends or may be decided differently; None: never."""
        return self._timetable.next_ms(self._execution.ending, self._state.is_waiting)

    def advance(self, to_ms: int) -> list[Left]:
        """Goes on to that moment; tells what ended by itself on the way."""
        left = []
        for end_ms, job_id, started_ms in self._timetable.ends_until(to_ms):
            ended = self._execution.ending(job_id, started_ms)
            if ended:
                at_ms = max(self.now_ms, end_ms)
                left.append(self._execution.end(self._state.record(job_id), ended, at_ms))
        if self._timetable.advance(to_ms):
            self._edge_passed = True
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
        evicted = self._execution.evict(plan.evictions)
        started = self._execution.bind(plan.bindings)
        self._execution.promise(plan.starts)
        failed = self._execution.fail(plan.waiting)
        self._edge_passed = False
        if plan.evictions:
            self._timetable.look_at(self.now_ms + _NEXT_CYCLE_MS)
        self._timetable.look_at_starts(plan)
        return Decided(plan, evicted, started, failed)
