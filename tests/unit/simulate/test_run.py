"""Replays: what arrives, waits, starts and ends when."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.cluster import Calendar, ClusterRecords, TenantUsage
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import AtMaintenance, Job, JobTemplate, Placement
from rota.model.plan import Plan
from rota.model.policy import Policy, QueuePolicy, QueueStrategy
from rota.model.reasons import BeyondCapacity, Insufficient
from rota.model.taints import Effect, Taint
from rota.model.workload import ENDLESS_MS, RecordedEnd, SimJob
from rota.simulate.epoch import since
from rota.simulate.result import JobResult, SimResult, Stretch
from rota.simulate.run import simulate
from rota.snapshot.state import RunTimes, Snapshot
from tests.builders import PLUGINS, Cluster, policy
from tests.unit.simulate.workloads import NODES, sim_job, workload


def replayed(*jobs: SimJob, how: Policy | None = None, every: float = 0, **calendar: object) -> SimResult:
    records = ClusterRecords(nodes=NODES, calendar=Calendar(**calendar))  # type: ignore[arg-type]
    return simulate(
        workload(*jobs), records, how or Policy(), PLUGINS, name="p", seed=7, every_ms=int(every * 1000)
    )


def times(result: SimResult) -> dict[str, tuple[float | None, float | None]]:
    """Of each job start and end in seconds."""
    return {one.job: (_seconds(one.start_ms), _seconds(one.end_ms)) for one in result.jobs}


def _seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else at_ms / 1000


def of(result: SimResult, name: str) -> JobResult:
    return next(one for one in result.jobs if one.job == name)


def test_jobs_start_when_those_before_them_end() -> None:
    result = replayed(sim_job("a", cpu=3), sim_job("b", cpu=3, at=10), sim_job("c", cpu=1, at=20))
    assert times(result) == {"a": (0, 60), "b": (60, 120), "c": (20, 80)}


def test_a_result_says_what_it_is_of() -> None:
    result = replayed(sim_job("a", cpu=3, gpu=0, tasks=1))
    assert (result.workload, result.policy, result.seed) == ("w", "p", 7)
    assert (result.nodes, result.cpu_milli, result.gpu_milli) == (("n",), 4000, 0)
    [one] = result.jobs
    assert (one.arrival_ms, one.run_ms, one.tasks, one.cpu_milli) == (0, 60_000, 1, 3000)
    assert one.stretches == (Stretch(0, NodeName("n"), 0, 60_000),)


def test_events_at_the_same_time_are_one_cycle_and_where_nothing_waits_there_is_none() -> None:
    result = replayed(*(sim_job(f"j{number}", cpu=1) for number in range(4)), sim_job("late", at=60, cpu=1))
    assert result.cycles == 2
    assert {one.start_ms for one in result.jobs} == {0, 60_000}


def test_a_job_of_no_length_makes_room_at_once() -> None:
    result = replayed(sim_job("a", cpu=3, runs=0), sim_job("b", cpu=3))
    assert times(result) == {"a": (0, 0), "b": (0, 60)}


def test_a_run_is_cut_at_its_limit() -> None:
    result = replayed(sim_job("a", cpu=3, runs=60, template={"time_limit_ms": 30_000}))
    assert times(result) == {"a": (0, 30)}
    assert of(result, "a").timed_out
    assert of(result, "a").run_ms == 60_000


def test_cycles_are_held_at_most_so_often() -> None:
    result = replayed(
        sim_job("a", cpu=4, runs=3), sim_job("b", cpu=1, at=4), sim_job("c", cpu=1, at=12), every=10
    )
    assert times(result) == {"a": (0, 3), "b": (10, 70), "c": (20, 80)}
    assert result.cycles == 3


def test_samples_say_how_full_the_cluster_was() -> None:
    result = replayed(sim_job("a", cpu=3), sim_job("b", cpu=2, at=10))
    assert [(one.time_ms, one.waiting, one.running, one.cpu_milli) for one in result.samples] == [
        (0, 0, 1, 3000),
        (10_000, 1, 1, 3000),
        (60_000, 0, 1, 2000),
        (120_000, 0, 0, 0),
    ]


class TestPreemption:
    RESULT = replayed(
        sim_job("low", cpu=3, runs=100, priority="low"), sim_job("high", at=30, cpu=3, priority="high")
    )

    def test_the_wait_is_until_the_run_that_ended(self) -> None:
        assert times(self.RESULT) == {"low": (90, 190), "high": (30, 90)}

    def test_the_run_that_was_lost_is_on_record(self) -> None:
        low = of(self.RESULT, "low")
        assert low.preemptions == 1
        assert low.stretches == (
            Stretch(0, NodeName("n"), 0, 30_000, evicted=True),
            Stretch(0, NodeName("n"), 90_000, 190_000),
        )


class TestJobsThatNeverStart:
    def test_are_refused_if_they_never_can_and_nobody_waits_for_them(self) -> None:
        fifo = policy(queues=(QueuePolicy(strategy=QueueStrategy.FIFO, strict=True),))
        result = replayed(sim_job("huge", cpu=9), sim_job("a", cpu=3, at=1), how=fifo)
        assert times(result) == {"huge": (None, None), "a": (1, 61)}
        verdict = of(result, "huge").verdict
        assert verdict is not None
        assert isinstance(verdict.refusals[0].reason, BeyondCapacity)

    def test_have_the_last_verdict_if_they_could_have(self) -> None:
        result = replayed(sim_job("a", cpu=3, runs=ENDLESS_MS / 1000), sim_job("b", cpu=3, at=1))
        assert times(result) == {"a": (0, None), "b": (None, None)}
        verdict = of(result, "b").verdict
        assert verdict is not None
        assert isinstance(verdict.refusals[0].reason, Insufficient)
        assert of(result, "a").stretches == (Stretch(0, NodeName("n"), 0, 1000),)

    def test_leave_when_they_were_cancelled(self) -> None:
        waiting = replace(sim_job("c", cpu=3, runs=0, at=1), outcome=RecordedEnd.CANCELLED, waited_ms=20_000)
        result = replayed(sim_job("a", cpu=3), waiting)
        cancelled = of(result, "c")
        assert (cancelled.start_ms, cancelled.end_ms, cancelled.cancelled) == (None, None, True)
        assert cancelled.verdict is None

    def test_start_all_the_same_if_there_is_room_before_they_are_cancelled(self) -> None:
        waiting = replace(sim_job("c", cpu=3, runs=0), outcome=RecordedEnd.CANCELLED, waited_ms=20_000)
        assert times(replayed(waiting)) == {"c": (0, 0)}


def test_jobs_that_run_when_the_replay_begins() -> None:
    running = replace(sim_job("a", cpu=3, runs=60), placements=(Placement(0, NodeName("n"), 0),))
    result = replayed(running, sim_job("b", cpu=3))
    assert times(result) == {"a": (0, 60), "b": (60, 120)}


def test_jobs_of_the_cluster_are_refused() -> None:
    records = Cluster().node("n", cpu=4).job("j").records
    with pytest.raises(ValueError, match="those of its workload"):
        simulate(workload(sim_job("a")), records, Policy(), PLUGINS, name="p", seed=0)


@pytest.mark.covers("time-5")
class TestMaintenance:
    def test_what_runs_then_goes_back_to_the_queue_or_is_over(self) -> None:
        over = {"at_maintenance": AtMaintenance.END}
        here = (Placement(0, NodeName("n"), 0),)
        result = replayed(
            replace(sim_job("back", cpu=1, runs=100), placements=here),
            replace(sim_job("over", cpu=1, runs=100, template=over), placements=here),
            maintenance=(Maintenance("m", 30_000, 50_000),),
        )
        assert times(result) == {"back": (50, 150), "over": (0, 30)}

    def test_nothing_starts_that_would_run_into_it(self) -> None:
        result = replayed(
            sim_job("long", cpu=1, runs=20, template={"time_limit_ms": 40_000}),
            sim_job("short", cpu=1, runs=20, template={"time_limit_ms": 20_000}),
            maintenance=(Maintenance("m", 30_000, 50_000),),
        )
        assert times(result) == {"long": (50, 70), "short": (0, 20)}


@pytest.mark.covers("time-2")
def test_promised_starts_are_on_record_and_kept() -> None:
    how = policy(queues=(QueuePolicy("default"), QueuePolicy("quick", interactive=True)))
    limit = {"time_limit_ms": 90_000}
    quick = {"time_limit_ms": 90_000, "queue": "quick"}
    result = replayed(
        sim_job("a", cpu=3, template=limit), sim_job("b", cpu=3, at=10, template=quick), how=how
    )
    assert of(result, "b").promised_ms == 90_000
    assert (of(result, "b").start_ms or 0) <= 90_000


class Listener:
    """A estimator and recorder that writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def waits(self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan) -> Estimate | None:
        assert job.id in snapshot.jobs
        self.heard.append(("waits", job.id, now_ms))
        return Estimate(now_ms, now_ms + 5, now_ms + 9)

    def started(self, job: Job, now_ms: int) -> None:
        self.heard.append(("started", job.id, now_ms))

    def ended(self, job: Job, run_ms: int, now_ms: int, completed: bool) -> None:
        self.heard.append(("ended", job.id, run_ms, now_ms, completed))

    def withdrawn(self, job_id: JobId) -> None:
        self.heard.append(("withdrawn", job_id))

    def run_times(self, template: JobTemplate) -> tuple[int, ...]:
        return (1, 2)

    def decided(
        self, records: ClusterRecords, run_times: RunTimes, policy: Policy, now_ms: int, plan: Plan
    ) -> None:
        waiting = [one.job.id for one in records.jobs if not one.placements]
        known = {run_times(one.job.template) for one in records.jobs}
        self.heard.append(("decided", waiting, known, now_ms, [one.job for one in plan.bindings]))


def heard(listener: Listener, *jobs: SimJob) -> SimResult:
    records = ClusterRecords(nodes=NODES)
    return simulate(
        workload(*jobs), records, Policy(), PLUGINS, name="p", seed=0, estimator=listener, recorder=listener
    )


def test_a_teller_and_a_recorder_are_told_everything_in_time() -> None:
    listener = Listener()
    limit = {"time_limit_ms": 50_000}
    result = heard(listener, sim_job("a", cpu=3, template=limit), sim_job("b", cpu=3, at=10, runs=5))
    assert listener.heard == [
        ("decided", ["a"], {(1, 2)}, 0, ["a"]),
        ("started", "a", 0),
        ("waits", "b", 10_000),
        ("decided", ["b"], {(1, 2)}, 10_000, []),
        ("ended", "a", 50_000, 50_000, False),
        ("decided", ["b"], {(1, 2)}, 50_000, ["b"]),
        ("started", "b", 50_000),
        ("ended", "b", 5_000, 55_000, True),
    ]
    assert of(result, "b").estimates == (Estimate(10_000, 10_005, 10_009),)


def test_a_teller_hears_of_jobs_that_never_start() -> None:
    listener = Listener()
    heard(listener, sim_job("huge", cpu=9))
    assert listener.heard[-1] == ("withdrawn", "huge")


def test_progress_is_told_in_jobs_that_are_over() -> None:
    told: list[int] = []
    jobs = [sim_job("a", cpu=3), sim_job("b", cpu=3), sim_job("huge", cpu=9)]
    simulate(
        workload(*jobs), ClusterRecords(nodes=NODES), Policy(), PLUGINS, name="", seed=0, progress=told.append
    )
    assert told == sorted(told)
    assert told[-1] == 3


def test_the_same_replay_gives_the_same_result() -> None:
    jobs = [sim_job(f"j{n}", at=n * 7 % 40, runs=n * 13 % 50, cpu=1 + n % 3) for n in range(40)]
    jobs.sort(key=lambda one: one.arrival_ms)
    assert replayed(*jobs) == replayed(*jobs)


@pytest.mark.slow
def test_nothing_is_ever_oversubscribed() -> None:
    jobs: Sequence[SimJob] = [
        sim_job(f"j{n}", at=n * 3, runs=n * 17 % 70, cpu=1 + n % 4, priority=n % 3 * 1000) for n in range(60)
    ]
    result = replayed(*jobs)
    assert all(0 <= sample.cpu_milli <= 4000 for sample in result.samples)
    assert all(one.end_ms is not None for one in result.jobs)


class TestRealTimes:
    RECORDS = ClusterRecords(
        nodes=Cluster().node("n", taints=[Taint("t", Effect.NO_EXECUTE, added_ms=1500)]).records.nodes,
        usage=(TenantUsage("p", 1200, ()),),
        calendar=Calendar(
            (Maintenance("m", 1100, 1300),),
            (Reservation("r", 1400, 1600, (NodeName("n"),), ("p",)),),
            (QueueState(QueueName("q"), QueueMode.PAUSED, 1700),),
        ),
    )

    def test_count_from_the_beginning_of_the_workload(self) -> None:
        shifted = since(1000, self.RECORDS)
        assert shifted.calendar.maintenance == (Maintenance("m", 100, 300),)
        assert shifted.calendar.reservations[0].start_ms == 400
        assert shifted.calendar.queues[0].since_ms == 700
        assert shifted.usage[0].as_of_ms == 200
        assert shifted.nodes[0].spec.taints[0].added_ms == 500

    def test_are_those_of_the_workload_where_it_has_no_date(self) -> None:
        assert since(0, self.RECORDS) == self.RECORDS


def test_an_empty_workload_has_an_empty_result() -> None:
    result = replayed()
    assert (result.jobs, result.cycles) == ((), 0)
