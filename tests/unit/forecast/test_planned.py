"""When a waiting job starts, by the plan at hand or by one made to the end of the queue."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from rota.engine import decide
from rota.engine.plugin import Plugins
from rota.forecast.estimator import PlannedStarts
from rota.forecast.planned import Planner, closed_periods
from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Backfill, Durations, Policy, QueuePolicy
from rota.snapshot import Snapshot, snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("time-1")

HOUR = 3600


def learnt(_: JobTemplate) -> tuple[int, ...]:
    return (600_000,)


def planned(cluster: Cluster, name: str, rules: Policy) -> tuple[float | None, float | None, bool]:
    """Expected and latest start in seconds from now, and whether it is promised."""
    snapshot = dataclasses.replace(snapshot_of(cluster.records), run_times=learnt)
    plan = decide(snapshot, rules, NOW_MS, PLUGINS)
    job = snapshot.jobs[JobId(name)].job
    found = Planner(PLUGINS)(snapshot, rules, NOW_MS, job, plan)
    return _seconds(found.expected_ms), _seconds(found.latest_ms), found.promised


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else (time_ms - NOW_MS) / 1000


BUSY = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=HOUR)
TWO = BUSY.job("first", cpu=1, limit=HOUR).job("second", cpu=1, limit=HOUR, submitted=1)


@pytest.mark.parametrize("durations", list(Durations))
@pytest.mark.parametrize("depth", [1, 100])
def test_learnt_run_times_tell_the_expected_start_and_limits_the_latest(
    durations: Durations, depth: int
) -> None:
    rules = policy(queues=(QueuePolicy(durations=durations, depth=depth),), preemption=False)
    assert planned(TWO, "first", rules) == (600, HOUR, False)
    assert planned(TWO, "second", rules) == (1200, 2 * HOUR, False)


@pytest.mark.parametrize("backfill", [Backfill.NONE, Backfill.EASY])
def test_a_queue_without_a_calendar_for_everybody_is_looked_at_as_if_it_had_one(backfill: Backfill) -> None:
    rules = policy(queues=(QueuePolicy(backfill=backfill),), preemption=False)
    assert planned(TWO, "second", rules) == (1200, 2 * HOUR, False)


def test_a_promise_is_what_it_is() -> None:
    rules = policy(queues=(QueuePolicy("live", interactive=True),), preemption=False)
    cluster = BUSY.job("j", cpu=1, limit=HOUR, queue="live")
    assert planned(cluster, "j", rules) == (HOUR, HOUR, True)


def test_who_has_no_place_has_no_start() -> None:
    cluster = Cluster().node("n", cpu=1).running("endless", on=["n"], cpu=1).job("j", cpu=1, limit=60)
    rules = policy(queues=(QueuePolicy(),), preemption=False)
    assert planned(cluster, "j", rules) == (None, None, False)


def test_an_answer_of_one_cycle_is_not_that_of_the_next() -> None:
    rules = policy(queues=(QueuePolicy(backfill=Backfill.NONE),), preemption=False)
    planner, found = Planner(PLUGINS), []
    for cluster in (TWO, BUSY.job("second", cpu=1, limit=HOUR)):
        snapshot = dataclasses.replace(snapshot_of(cluster.records), run_times=learnt)
        plan = decide(snapshot, rules, NOW_MS, PLUGINS)
        found.append(planner(snapshot, rules, NOW_MS, snapshot.jobs[JobId("second")].job, plan))
    assert found == [
        PlannedStarts(NOW_MS + 1_200_000, NOW_MS + 2 * HOUR * 1000),
        PlannedStarts(NOW_MS + 600_000, NOW_MS + HOUR * 1000),
    ]


def test_many_who_ask_about_the_same_cycle_cost_two_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = BUSY
    for at in range(20):
        cluster = cluster.job(f"j{at:02}", cpu=1, limit=HOUR, submitted=at)
    rules = policy(queues=(QueuePolicy(depth=5),), preemption=False)
    snapshot = dataclasses.replace(snapshot_of(cluster.records), run_times=learnt)
    plan = decide(snapshot, rules, NOW_MS, PLUGINS)
    made: list[Policy] = []

    def counted(snapshot: Snapshot, rules: Policy, now_ms: int, plugins: Plugins) -> Plan:
        made.append(rules)
        return decide(snapshot, rules, now_ms, plugins)

    monkeypatch.setattr("rota.forecast.planned.decide", counted)
    planner = Planner(PLUGINS)
    jobs = [record.job for record in snapshot.jobs.values() if not record.placements]
    found = [planner(snapshot, rules, NOW_MS, job, plan).expected_ms for job in jobs]
    assert found == [NOW_MS + 600_000 * (at + 1) for at in range(20)]
    assert len(made) == 2


def test_not_deeper_than_asked_for_unless_the_policy_is() -> None:
    cluster = BUSY
    for at in range(6):
        cluster = cluster.job(f"j{at}", cpu=1, limit=HOUR, submitted=at)
    for depth, has_place in ((1, 3), (5, 5)):
        rules = policy(queues=(QueuePolicy(depth=depth),), preemption=False)
        snapshot = dataclasses.replace(snapshot_of(cluster.records), run_times=learnt)
        plan = decide(snapshot, rules, NOW_MS, PLUGINS)
        planner = Planner(PLUGINS, depth=3)
        jobs = [record.job for record in snapshot.jobs.values() if not record.placements]
        found = [planner(snapshot, rules, NOW_MS, job, plan).expected_ms for job in jobs]
        assert sum(start is not None for start in found) == has_place


@pytest.mark.covers("first-4")
class TestClosedPeriods:
    CALENDAR = Calendar(
        maintenance=(
            Maintenance("all", 10_000, 20_000),
            Maintenance("one", 50_000, 60_000, (NodeName("n"),)),
        ),
        reservations=(Reservation("exam", 30_000, 40_000, (NodeName("n"),), ("p",)),),
    )

    def closed(self, *nodes: str, **fields: object) -> list[tuple[int, int]]:
        template = replace(JobTemplate(()), **fields)
        job = Job(JobId("j"), template, start_after_ms=5_000)
        return list(closed_periods(job, [NodeName(one) for one in nodes], self.CALENDAR))

    def test_before_it_may_and_where_it_would_run_into_maintenance(self) -> None:
        limited = self.closed("n", time_limit_ms=1_000)
        assert limited == [(0, 5_000), (9_001, 20_000), (49_001, 60_000)]
        assert self.closed("m", time_limit_ms=1_000) == [(0, 5_000), (9_001, 20_000)]

    def test_without_a_limit_it_could_run_into_any(self) -> None:
        assert self.closed("n") == [(0, 5_000), (0, 20_000), (0, 60_000)]

    def test_before_its_reservation(self) -> None:
        assert (0, 30_000) in self.closed("n", reservation="exam")
