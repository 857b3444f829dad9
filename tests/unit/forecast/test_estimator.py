"""What users are told when their jobs come in."""

from __future__ import annotations

import msgspec
import pytest

from rota.forecast.estimator import SMALLEST_SIZE, Estimator, EstimatorState, PlannedStarts, size_class
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.snapshot import snapshot_of
from rota.snapshot.state import Snapshot
from tests.builders import Cluster

MINUTE = 60_000
HOUR = 60 * MINUTE

pytestmark = pytest.mark.covers("time-1")


def job(name: str = "a", cpu: int = 1, tasks: int = 1, gpus: int = 0, submitted_ms: int = 0) -> Job:
    spec = TaskSpec(requests=Resources(cpu_milli=1000 * cpu), gpu=GpuRequest(gpus))
    return Job(JobId(name), JobTemplate((TaskGroup(spec, tasks),), time_limit_ms=HOUR), submitted_ms)


SNAPSHOT: Snapshot = snapshot_of(Cluster().node("n1", cpu=128, gpus=4).node("n2", cpu=128).records)


def estimator(planned: PlannedStarts, state: EstimatorState | None = None) -> Estimator:
    return Estimator(lambda *_: planned, state)


def tell(told_by: Estimator, one: Job, now_ms: int = 0) -> Estimate | None:
    return told_by.waits(SNAPSHOT, Policy(), now_ms, one, Plan())


class TestEstimates:
    def test_one_that_only_learns_tells_nobody_anything(self) -> None:
        assert tell(Estimator(None), job()) is None

    def test_the_plan_is_where_it_begins(self) -> None:
        estimate = tell(estimator(PlannedStarts(HOUR, 3 * HOUR)), job())
        assert estimate is not None
        assert estimate.told_ms == 0
        assert estimate.expected_ms == HOUR
        assert estimate.bound_ms > HOUR
        assert estimate.latest_ms == 3 * HOUR

    def test_a_promise_is_told_as_it_is_and_not_learnt_from(self) -> None:
        told_by = estimator(PlannedStarts(HOUR, promised=True))
        assert tell(told_by, job()) == Estimate(0, HOUR, HOUR, HOUR)
        told_by.started(job(), HOUR)
        assert told_by.state == EstimatorState()

    def test_without_a_plan_there_is_an_estimate_all_the_same(self) -> None:
        estimate = tell(estimator(PlannedStarts()), job())
        assert estimate is not None
        assert estimate.expected_ms < estimate.bound_ms
        assert estimate.latest_ms is None

    def test_starts_later_than_planned_are_learnt(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        for at in range(50):
            tell(told_by, job(str(at)))
            told_by.started(job(str(at)), 2 * HOUR)
        estimate = tell(told_by, job("next"))
        assert estimate is not None
        assert estimate.expected_ms == pytest.approx(2 * HOUR, rel=0.3)

    def test_only_the_first_start_counts(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        tell(told_by, job())
        told_by.started(job(), HOUR)
        learnt = msgspec.json.encode(told_by.state)
        told_by.started(job(), 50 * HOUR)
        assert msgspec.json.encode(told_by.state) == learnt

    def test_time_passes_with_every_end(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        tell(told_by, job("waits"))
        told_by.ended(job("other"), HOUR, 100 * HOUR, completed=True)
        assert not told_by.state.starts.told[JobId("waits")][0].awaits_bound

    def test_who_is_withdrawn_is_forgotten(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        tell(told_by, job())
        told_by.withdrawn(JobId("a"))
        assert not told_by.state.starts.told


def look(told_by: Estimator, one: Job) -> Estimate | None:
    return told_by.look(SNAPSHOT, Policy(), 0, one, Plan())


class TestLooking:
    def test_the_same_as_would_be_told_but_not_learnt_from(self) -> None:
        told_by = estimator(PlannedStarts(HOUR, 3 * HOUR))
        looked = look(told_by, job())
        assert told_by.state == EstimatorState()
        assert looked == tell(told_by, job())

    def test_nobody_guesses_without_a_plan(self) -> None:
        assert look(estimator(PlannedStarts(None, HOUR)), job()) is None
        assert look(Estimator(None), job()) is None

    def test_a_promise_is_told_as_it_is(self) -> None:
        assert look(estimator(PlannedStarts(HOUR, promised=True)), job()) == Estimate(0, HOUR, HOUR, HOUR)


class TestRunTimes:
    def test_ends_are_learnt_from(self) -> None:
        told_by = estimator(PlannedStarts())
        assert told_by.run_times(job().template) == ()
        told_by.ended(job(), 10 * MINUTE, 10 * MINUTE, completed=True)
        assert set(told_by.run_times(job().template)) == {10 * MINUTE}

    def test_what_was_learnt_outlives_a_restart(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        tell(told_by, job())
        told_by.started(job(), 2 * HOUR)
        told_by.ended(job(), 10 * MINUTE, 3 * HOUR, completed=True)
        state = msgspec.json.decode(msgspec.json.encode(told_by.state), type=EstimatorState)
        again = estimator(PlannedStarts(HOUR), state)
        assert again.run_times(job().template) == told_by.run_times(job().template)
        assert tell(again, job("b")) == tell(told_by, job("b"))

    def test_jobs_of_elsewhere_are_forgotten_and_what_came_of_others_is_not(self) -> None:
        told_by = estimator(PlannedStarts(HOUR))
        for name in "ab":
            tell(told_by, job(name))
        told_by.started(job("a"), 3 * HOUR)
        kept = told_by.state.for_others()
        assert JobId("b") in told_by.state.starts.told
        assert not kept.starts.told
        assert kept.starts.bound == told_by.state.starts.bound
        assert tell(estimator(PlannedStarts(HOUR), kept), job("c")) == tell(told_by, job("c"))


class TestSizes:
    @pytest.mark.parametrize(
        "one, size",
        [
            (job(tasks=65), 0),
            (job(tasks=64), 1),
            (job(tasks=17), 1),
            (job(tasks=16), 2),
            (job(cpu=4), 3),
            (job(cpu=1), SMALLEST_SIZE),
            (job(cpu=0), SMALLEST_SIZE),
            (job(cpu=1, gpus=2), 0),
            (job(cpu=1, gpus=1), 1),
        ],
    )
    def test_by_the_largest_share_of_anything(self, one: Job, size: int) -> None:
        assert size_class(one.template, SNAPSHOT) == size
