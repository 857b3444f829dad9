"""Batch queues: who may start around those that wait, and when these will."""

from __future__ import annotations

import pytest

from rota.model.policy import Backfill, Durations, Policy, QueuePolicy, QueueStrategy
from rota.model.reasons import JobAntiAffinityUnmet, RoomPlanned
from tests.builders import Cluster, policy
from tests.words import apart

HOUR = 3600.0
BUSY = Cluster().nodes("a b", cpu=4).running("old", on=["a"], cpu=4, started=0, limit=HOUR)
"""One of two nodes is taken for an hour."""


def batch(backfill: str = "conservative", **fields: object) -> Policy:
    queue = QueuePolicy(backfill=Backfill(backfill), **fields)  # type: ignore[arg-type]
    return policy(queues=(queue,), preemption=False)


@pytest.mark.covers("time-3")
class TestConservative:
    def test_a_job_that_waits_is_told_when_and_where_it_will_start(self) -> None:
        plan = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).plan(batch())
        assert plan.start("wide") == HOUR
        assert sorted(plan.start_places("wide")) == ["a", "b"]
        assert not plan.is_promised("wide")

    def test_a_short_job_overtakes_where_it_delays_nobody(self) -> None:
        cluster = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).job("short", cpu=4, limit=HOUR, submitted=1)
        assert cluster.plan(batch()).places("short") == ["b"]

    def test_a_long_job_does_not_and_knows_who_is_in_the_way(self) -> None:
        cluster = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).job("long", cpu=4, limit=HOUR + 1, submitted=1)
        plan = cluster.plan(batch())
        assert plan.places("long") == []
        refusal = plan.waits("long").refusals[0]
        assert isinstance(refusal.reason, RoomPlanned)
        assert refusal.reason.job == "wide"
        assert plan.start("long") == 2 * HOUR

    def test_a_job_without_a_limit_never_overtakes(self) -> None:
        cluster = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).job("endless", cpu=4, submitted=1)
        assert cluster.plan(batch()).places("endless") == []

    def test_it_overtakes_beside_the_room_that_is_kept(self) -> None:
        cluster = (
            BUSY.node("c", cpu=4)
            .job("wide", tasks=3, cpu=2, limit=HOUR, topology=(), spec={"exclusive": True})
            .job("long", cpu=4, limit=9 * HOUR, submitted=1)
        )
        plan = cluster.plan(batch())
        assert plan.start("wide") == HOUR
        assert plan.places("long") == []

    def test_equal_jobs_wait_one_behind_the_other(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=60)
        for number in range(3):
            cluster = cluster.job(f"j{number}", cpu=1, limit=60)
        assert cluster.plan(batch()).starts() == {"j0": 60, "j1": 120, "j2": 180}

    def test_what_this_cycle_starts_counts(self) -> None:
        cluster = (
            Cluster().node("n", cpu=1).job("first", cpu=1, limit=60).job("next", cpu=1, limit=60, submitted=1)
        )
        plan = cluster.plan(batch())
        assert plan.places("first") == ["n"]
        assert plan.starts() == {"next": 60}

    def test_nobody_is_told_a_start_behind_a_job_without_a_limit(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1).job("j", cpu=1, limit=60)
        assert cluster.plan(batch()).starts() == {}

    def test_who_never_can_start_has_no_place(self) -> None:
        assert BUSY.job("huge", cpu=99, limit=60).plan(batch()).starts() == {}

    def test_a_task_past_its_limit_is_taken_to_end_soon(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=-120, limit=60)
        assert cluster.job("j", cpu=1, limit=60).plan(batch()).start("j") == 60

    def test_gpus_are_planned_by_device(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8, gpus=2)
            .running("x", on=["n"], devices=[[0]], gpu=1, started=0, limit=60)
            .running("y", on=["n"], devices=[[1]], gpu=1, started=0, limit=120)
            .job("one", gpu=1, limit=600)
            .job("two", gpu=2, limit=600, submitted=1)
        )
        plan = cluster.plan(batch())
        assert plan.starts() == {"one": 60, "two": 660}

    def test_company_that_will_be_gone_by_then_keeps_nobody_away(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=4)
            .running("rival", on=["n"], cpu=1, labels={"app": "x"}, started=0, limit=60)
            .job("j", cpu=1, limit=60, affinity=[apart("host", "app In x")])
        )
        plan = cluster.plan(batch())
        assert plan.reasons("j") == {JobAntiAffinityUnmet}
        assert plan.start("j") == 60

    def test_only_so_many_get_a_place(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=60)
        for number in range(3):
            cluster = cluster.job(f"j{number}", cpu=1, limit=60)
        assert cluster.plan(batch(depth=2)).starts() == {"j0": 60, "j1": 120}

    def test_zero_length_jobs_and_equal_times(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=2)
            .running("x", on=["n"], cpu=1, started=0, limit=60)
            .running("y", on=["n"], cpu=1, started=0, limit=60)
            .job("a", cpu=2, limit=0.001)
            .job("b", cpu=2, limit=60, submitted=1)
        )
        assert cluster.plan(batch()).starts() == {"a": 60, "b": 60.001}

    def test_limits_of_years(self) -> None:
        century = 100 * 365 * 24 * HOUR
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=century)
        assert cluster.job("j", cpu=1, limit=century).plan(batch()).start("j") == century


@pytest.mark.covers("time-3")
class TestEasy:
    def test_only_the_first_has_a_place(self) -> None:
        cluster = (
            BUSY.job("wide", tasks=2, cpu=4, limit=HOUR)
            .job("also", tasks=2, cpu=4, limit=HOUR, submitted=1)
            .job("short", cpu=4, limit=HOUR, submitted=2)
        )
        plan = cluster.plan(batch("easy"))
        assert plan.starts() == {"wide": HOUR}
        assert plan.places("short") == ["b"]


@pytest.mark.covers("time-3")
def test_without_backfill_whoever_fits_starts() -> None:
    cluster = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).job("long", cpu=4, limit=9 * HOUR, submitted=1)
    plan = cluster.plan(batch("none"))
    assert plan.starts() == {}
    assert plan.places("long") == ["b"]


@pytest.mark.covers("time-3")
def test_in_a_strict_queue_starts_follow_each_other() -> None:
    cluster = BUSY.job("wide", tasks=2, cpu=4, limit=HOUR).job("short", cpu=4, limit=60, submitted=1)
    plan = cluster.plan(batch(strict=True, strategy=QueueStrategy.FIFO))
    assert plan.places("short") == []
    assert plan.starts() == {"wide": HOUR, "short": 2 * HOUR}


@pytest.mark.covers("time-3")
class TestPriorities:
    def test_who_is_higher_is_planned_first(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=1)
            .running("old", on=["n"], cpu=1, started=0, limit=60, priority="critical")
            .job("low", cpu=1, limit=60, priority="low", submitted=-5)
            .job("high", cpu=1, limit=60, priority="high")
        )
        assert cluster.plan(batch()).starts() == {"high": 60, "low": 120}

    def test_the_smallest_first_where_the_queue_says_so(self) -> None:
        cluster = Cluster().node("n", cpu=4).running("old", on=["n"], cpu=4, started=0, limit=60)
        cluster = cluster.job("wide", cpu=4, limit=60).job("long", cpu=3, limit=100, submitted=1)
        cluster = cluster.job("small", cpu=3, limit=50, submitted=2)
        plan = cluster.plan(batch(strategy=QueueStrategy.SMALLEST))
        assert plan.starts() == {"small": 60, "wide": 110, "long": 170}

    def test_a_preemptor_does_not_wait(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=1)
            .running("old", on=["n"], cpu=1, started=0, limit=60, priority="low")
            .job("high", cpu=1, limit=60, priority="high")
        )
        plan = cluster.plan(policy(queues=(QueuePolicy(),)))
        assert plan.evicts() == ["old"]
        assert plan.starts() == {}


@pytest.mark.covers("time-3")
class TestLearntRunTimes:
    def cluster(self) -> Cluster:
        return (
            Cluster()
            .node("n", cpu=2)
            .running("old", on=["n"], cpu=1, started=-10, limit=HOUR)
            .job("wide", cpu=2, limit=HOUR)
            .job("behind", cpu=1, limit=30, submitted=1)
            .learnt(lambda template: (20_000, 40_000) if template.time_limit_ms == HOUR * 1000 else ())
        )

    def test_starts_are_planned_by_what_is_expected(self) -> None:
        plan = self.cluster().plan(batch(durations=Durations.LEARNT))
        assert plan.start("wide") == 20
        assert plan.places("behind") == []

    def test_who_runs_longer_than_most_is_expected_to_end_later(self) -> None:
        plan = self.cluster().plan(batch(durations=Durations.LEARNT), now=15)
        assert plan.start("wide") == 30

    def test_who_outruns_all_is_expected_to_use_up_its_limit(self) -> None:
        plan = self.cluster().plan(batch(durations=Durations.LEARNT), now=35)
        assert plan.start("wide") == HOUR - 10

    def test_limits_are_the_default(self) -> None:
        plan = self.cluster().plan(batch())
        assert plan.start("wide") == HOUR - 10
        assert plan.places("behind") == ["n"]
