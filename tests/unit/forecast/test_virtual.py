"""A cluster under a virtual clock: plans are carried out, tasks end, and it says when to look again."""

from __future__ import annotations

from typing import Any, Unpack

import pytest
from msgspec.structs import replace

from rota.forecast.execution import Left
from rota.forecast.virtual import VirtualCluster
from rota.model.calendar import Maintenance, PlannedStart
from rota.model.cluster import Calendar
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, Placement, Promise
from rota.model.plan import Eviction, EvictionCause, Plan, Waiting
from rota.model.policy import Policy, Promotion
from rota.model.reasons import PeriodMissed, SlaMissed
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.model.workload import ENDLESS_MS
from tests.builders import PLUGINS, Cluster, policy
from tests.words import NOW_MS, JobWords, job

NODE = Cluster().node("n", cpu=4)
MINUTE_MS = 60_000


def virtual(
    cluster: Cluster = NODE,
    how: Policy | None = None,
    run_ms: int = MINUTE_MS,
    calendar: Calendar | None = None,
) -> VirtualCluster:
    records = replace(cluster.records, calendar=calendar or Calendar())
    return VirtualCluster(records, how or Policy(), PLUGINS, NOW_MS, lambda _: run_ms)


def record(name: str, **words: Unpack[JobWords]) -> JobRecord:
    return JobRecord(job(name, words))


def seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else (at_ms - NOW_MS) / 1000


def ended(left: list[Left]) -> list[tuple[str, float | None]]:
    return [(one.job.id, seconds(one.at_ms)) for one in left]


def verdict(reason: Reason) -> Verdict:
    return Verdict(Kind.NEVER, (Refusal(reason, 0),))


class TestJobs:
    def test_start_when_there_is_room_and_end_after_their_run_time(self) -> None:
        cluster = virtual()
        cluster.arrive(record("j", cpu=3), 90_000)
        [started] = cluster.decide_now().started
        assert started.placements == (Placement(0, NodeName("n"), NOW_MS),)
        assert seconds(cluster.next_ms()) == 90
        assert cluster.advance(NOW_MS + 89_999) == []
        assert ended(cluster.advance(NOW_MS + 100_000)) == [("j", 90)]
        assert cluster.record(JobId("j")) is None
        assert (cluster.running_count, cluster.waiting_count, cluster.next_ms()) == (0, 0, None)

    def test_run_until_their_limit_at_most(self) -> None:
        cluster = virtual()
        cluster.arrive(record("j", cpu=3, template={"time_limit_ms": 30_000}), 90_000)
        cluster.decide_now()
        assert ended(cluster.advance(NOW_MS + 90_000)) == [("j", 30)]

    def test_wait_for_those_that_run(self) -> None:
        cluster = virtual()
        cluster.arrive(record("a", cpu=3), 60_000)
        cluster.arrive(record("b", cpu=3), 60_000)
        cluster.decide_now()
        assert (cluster.running_count, cluster.waiting_count) == (1, 1)
        decided = cluster.step()
        assert decided is not None
        assert [one.job.id for one in decided.started] == ["b"]
        assert seconds(cluster.now_ms) == 60

    def test_of_no_length_end_at_once(self) -> None:
        cluster = virtual()
        cluster.arrive(record("j", cpu=3), 0)
        cluster.decide_now()
        assert cluster.next_ms() == NOW_MS
        assert ended(cluster.advance(NOW_MS)) == [("j", 0)]

    def test_that_never_end_are_nothing_to_wait_for(self) -> None:
        cluster = virtual()
        cluster.arrive(record("j", cpu=3), ENDLESS_MS)
        cluster.decide_now()
        assert cluster.running_count == 1
        assert cluster.next_ms() is None
        assert cluster.step() is None

    def test_of_records_run_on(self) -> None:
        live = NODE.running("old", on=["n"], cpu=3, started=-40).job("new", cpu=3)
        cluster = virtual(live)
        assert seconds(cluster.next_ms()) == 20

    def test_of_records_that_should_have_ended_end_now(self) -> None:
        cluster = virtual(NODE.running("old", on=["n"], cpu=3, started=-3600))
        assert cluster.next_ms() == NOW_MS
        assert ended(cluster.advance(NOW_MS)) == [("old", 0)]

    def test_leave_the_records_they_were_made_from_alone(self) -> None:
        live = NODE.job("j", cpu=1)
        before = live.records
        virtual(live).decide_now()
        assert live.records == before
        assert live.records.jobs[0].placements == ()

    def test_may_be_withdrawn(self) -> None:
        cluster = virtual(NODE.job("j", cpu=9))
        cluster.withdraw(JobId("j"))
        assert cluster.waiting_count == 0
        assert cluster.record(JobId("j")) is None


class TestTasks:
    def test_that_start_later_end_later(self) -> None:
        """Three of four tasks must start together; the fourth waits for room."""
        cluster = virtual()
        cluster.arrive(record("other", cpu=1), 30_000)
        cluster.decide_now()
        cluster.arrive(record("gang", cpu=1, tasks=4, min_available=3), 60_000)
        cluster.decide_now()
        cluster.advance(NOW_MS + 30_000)
        assert len(cluster.decide_now().started) == 1
        [first] = cluster.advance(NOW_MS + 60_000)
        assert ([one.rank for one in first.placements], first.is_over) == ([0, 1, 2], False)
        left = cluster.record(JobId("gang"))
        assert left is not None
        assert left.done == (0, 1, 2)
        [last] = cluster.advance(NOW_MS + 90_000)
        assert ([one.rank for one in last.placements], last.is_over) == ([3], True)


class TestEvictions:
    def evicted(self) -> VirtualCluster:
        cluster = virtual(
            NODE.running("low", on=["n"], cpu=3, started=-20, priority="low", job={"retries": 2})
        )
        cluster.arrive(record("high", cpu=3, priority="high"), 60_000)
        decided = cluster.decide_now()
        [left] = decided.evicted
        assert (left.job.id, seconds(left.at_ms), left.is_over) == ("low", 0, False)
        return cluster

    def test_send_the_job_back_to_the_queue_and_it_knows_by_whom(self) -> None:
        low = self.evicted().record(JobId("low"))
        assert low is not None
        assert low.placements == ()
        assert (low.job.preempted_by, low.job.retries) == (("high",), 2)

    def test_are_followed_by_another_cycle_at_once(self) -> None:
        assert self.evicted().next_ms() == NOW_MS + 1

    def test_make_the_job_begin_anew(self) -> None:
        cluster = self.evicted()
        cluster.advance(NOW_MS + 60_000)
        cluster.decide_now()
        assert seconds(cluster.next_ms()) == 120

    def test_may_end_the_job(self) -> None:
        cluster = virtual(NODE.running("r", on=["n"], cpu=3, started=-20))
        eviction = Eviction(JobId("r"), 0, NodeName("n"), EvictionCause.MAINTENANCE, ends_job=True)
        [left] = cluster.carry_out(Plan(evictions=(eviction,))).evicted
        assert left.is_over
        assert cluster.record(JobId("r")) is None

    def test_for_nobody_leave_no_name(self) -> None:
        cluster = virtual(NODE.running("r", on=["n"], cpu=3, started=-20))
        eviction = Eviction(JobId("r"), 0, NodeName("n"), EvictionCause.TAINT)
        cluster.carry_out(Plan(evictions=(eviction,)))
        left = cluster.record(JobId("r"))
        assert left is not None
        assert left.job.preempted_by == ()


class TestPromises:
    PLANNED = PlannedStart(JobId("j"), NOW_MS + 90_000, (Placement(0, NodeName("n")),), promised=True)

    @pytest.mark.covers("time-2")
    def test_are_kept_on_record_and_looked_at_when_due(self) -> None:
        cluster = virtual(NODE.job("j", cpu=3))
        cluster.carry_out(Plan(starts=(self.PLANNED,)))
        waiting = cluster.record(JobId("j"))
        assert waiting is not None
        assert waiting.promise == Promise(NOW_MS + 90_000, (Placement(0, NodeName("n")),))
        assert seconds(cluster.next_ms()) == 90

    def test_are_over_when_the_job_starts(self) -> None:
        cluster = virtual(NODE.job("j", cpu=3))
        cluster.carry_out(Plan(starts=(self.PLANNED,)))
        cluster.advance(NOW_MS + 90_000)
        assert cluster.decide_now().started
        running = cluster.record(JobId("j"))
        assert running is not None
        assert running.promise is None

    def test_that_the_records_had_are_looked_at_as_well(self) -> None:
        promise = Promise(NOW_MS + 90_000, (Placement(0, NodeName("n")),))
        live = NODE.record(replace(record("j", cpu=3), promise=promise))
        assert seconds(virtual(live).next_ms()) == 90


@pytest.mark.covers("time-9")
@pytest.mark.parametrize("reason", [SlaMissed(1), PeriodMissed(1)])
def test_who_is_too_late_fails_and_leaves(reason: Reason) -> None:
    cluster = virtual(NODE.job("j", cpu=3).running("r", on=["n"], tasks=2, min_available=1, cpu=1))
    late = Waiting((JobId("j"), JobId("r")), verdict(reason))
    assert cluster.carry_out(Plan(waiting=(late,))).failed == ("j",)
    assert cluster.record(JobId("j")) is None
    assert cluster.record(JobId("r")) is not None


class TestMoments:
    """When it is worth looking again, though nothing ends."""

    def waiting(self, how: Policy | None = None, **fields: Any) -> VirtualCluster:
        words: JobWords = {"cpu": 9, "job": fields}
        return virtual(Cluster().node("n", cpu=4).record(JobRecord(job("j", words))), how)

    def test_the_period_in_which_a_job_is_to_start(self) -> None:
        cluster = self.waiting(start_after_ms=NOW_MS + 20_000, start_before_ms=NOW_MS + 50_000)
        assert seconds(cluster.next_ms()) == 20
        cluster.advance(NOW_MS + 20_000)
        assert seconds(cluster.next_ms()) == 50.001

    def test_when_a_job_rises(self) -> None:
        cluster = self.waiting(policy(promotion=Promotion(every_ms=40_000)))
        assert seconds(cluster.next_ms()) == 40

    def test_not_for_jobs_that_no_longer_wait(self) -> None:
        cluster = self.waiting(start_before_ms=NOW_MS + 50_000)
        cluster.withdraw(JobId("j"))
        assert cluster.next_ms() is None

    def test_when_those_that_run_are_no_longer_left_alone(self) -> None:
        cluster = virtual(how=policy(min_run=30))
        cluster.arrive(record("j", cpu=3), 60_000)
        cluster.decide_now()
        assert seconds(cluster.next_ms()) == 30

    def test_announcements_are_due_though_nothing_waits(self) -> None:
        calendar = Calendar((Maintenance("m", NOW_MS + 10_000, NOW_MS + 20_000),))
        cluster = virtual(calendar=calendar)
        cluster.decide_now()
        assert (cluster.is_due, seconds(cluster.next_ms())) == (False, 10)
        cluster.advance(NOW_MS + 10_000)
        assert (cluster.is_due, seconds(cluster.next_ms())) == (True, 20)

    def test_planned_starts_are_tried_less_and_less_often(self) -> None:
        cluster = virtual(NODE.job("j", cpu=9))
        looks = []
        for _ in range(4):
            soon = PlannedStart(JobId("j"), cluster.now_ms + 1)
            cluster.carry_out(Plan(starts=(soon,)))
            next_ms = cluster.next_ms()
            assert next_ms is not None
            looks.append(next_ms - cluster.now_ms)
            cluster.advance(next_ms)
        assert looks == [1000, 2000, 4000, 8000]


class TestOffers:
    LIVE = Cluster().offer("o", cpu=4, limit=2, startup=90).job("a", cpu=3).job("b", cpu=3).job("c", cpu=3)

    def test_become_nodes_that_have_to_start_up_first(self) -> None:
        cluster = virtual(self.LIVE)
        started = cluster.decide_now().started
        assert [seconds(one.placements[0].started_ms) for one in started] == [90, 90]
        assert len(cluster.nodes) == 2
        assert {one.placements[0].node for one in started} == set(cluster.nodes)
        assert seconds(cluster.next_ms()) == 150

    def test_are_used_up(self) -> None:
        cluster = virtual(self.LIVE)
        cluster.decide_now()
        assert not cluster.decide_now().started
        cluster.advance(NOW_MS + 150_000)
        [third] = cluster.decide_now().started
        assert seconds(third.placements[0].started_ms) == 150


def test_usage_is_counted_when_tasks_stop() -> None:
    how = policy(queue="fair")
    cluster = virtual(NODE, how)
    cluster.arrive(record("j", cpu=3, template={"project": "p", "user": "u"}), 60_000)
    cluster.decide_now()
    assert cluster.snapshot().usage == ()
    cluster.advance(NOW_MS + 60_000)
    [usage] = cluster.snapshot().usage
    assert (usage.path, usage.as_of_ms) == ("p/u", NOW_MS + 60_000)
    assert dict(usage.amounts)["cpu"] == pytest.approx(3000 * 60, rel=1e-4)
    assert cluster.records().usage == (usage,)


def test_records_are_what_it_holds() -> None:
    live = NODE.job("j", cpu=3)
    cluster = virtual(live)
    assert cluster.records() == live.records
    cluster.decide_now()
    assert cluster.records().jobs[0].placements == (Placement(0, NodeName("n"), NOW_MS),)


def test_learnt_run_times_are_what_the_engine_sees() -> None:
    cluster = virtual()
    cluster.learn(lambda template: (1, 2, 3))
    assert cluster.snapshot().run_times(Job(JobId("j"), record("j").job.template).template) == (1, 2, 3)


@pytest.mark.covers("decide-17")
def test_who_waits_longer_than_the_policy_allows_fails() -> None:
    cluster = virtual(how=policy(timeout_ms=MINUTE_MS), run_ms=10 * MINUTE_MS)
    cluster.arrive(record("runs", cpu=4), 10 * MINUTE_MS)
    assert cluster.decide_now().started
    cluster.arrive(record("waits", cpu=4), MINUTE_MS)
    assert cluster.decide_now().failed == ()
    decided = cluster.step()
    assert decided is not None
    assert (decided.failed, seconds(cluster.now_ms)) == (("waits",), 60.001)
