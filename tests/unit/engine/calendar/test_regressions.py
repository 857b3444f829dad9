"""Situations in which the calendar once was wrong, each as small as it gets."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.engine.explaining.explain import explain
from rota.model.ids import JobId, NodeName
from rota.model.job import Placement, Promise
from rota.model.policy import Backfill, Policy, Preemption, QueuePolicy, QueueStrategy, SchedulerPolicy
from rota.model.reasons import AwaitsPartner, BehindInStrictQueue, NotReservedFor, QueueClosed
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.words import NOW_MS

LIVE = QueuePolicy("live", QueueStrategy.FIFO, interactive=True, order=-1)
POLICY = policy(queues=(LIVE, QueuePolicy()), preemption=False)
EVICTING = policy(queues=(LIVE, QueuePolicy()))


def promised(cluster: Cluster, name: str, *, start: float, on: str, ranks: tuple[int, ...] = (0,)) -> Cluster:
    """The user of that job was told this start, of tasks of these ranks on these nodes."""
    at = NOW_MS + int(start * 1000)
    where = zip(ranks, on.split(), strict=True)
    promise = Promise(at, tuple(Placement(rank, NodeName(node), at) for rank, node in where))
    jobs = tuple(
        replace(record, promise=promise) if record.job.id == name else record
        for record in cluster.records.jobs
    )
    return Cluster(replace(cluster.records, jobs=jobs))


@pytest.mark.covers("time-2", "time-4")
class TestPromisesBesideReservations:
    def test_a_promise_beside_a_reserved_share_is_kept(self) -> None:
        cluster = Cluster().node("n", cpu=2).reservation("course", start=0, end=600, on="n", cpu=1)
        cluster = promised(cluster.job("j", cpu=1, queue="live", limit=60, after=30), "j", start=30, on="n")
        assert cluster.plan(POLICY).starts() == {"j": 30}

    def test_one_that_a_larger_share_was_announced_over_is_given_anew(self) -> None:
        cluster = Cluster().nodes("m n", cpu=2).reservation("course", start=40, end=600, on="n", cpu=2)
        cluster = promised(cluster.job("j", cpu=1, queue="live", limit=60), "j", start=30, on="n")
        assert cluster.plan(POLICY).places("j") == ["m"]

    def test_one_inside_of_a_reservation_that_was_withdrawn_is_not_kept(self) -> None:
        cluster = Cluster().node("n", cpu=2)
        cluster = promised(
            cluster.job("j", cpu=1, queue="live", limit=60, reservation="course"), "j", start=30, on="n"
        )
        plan = cluster.plan(POLICY)
        assert plan.starts() == {}
        assert plan.reasons("j") == {NotReservedFor}

    def test_what_runs_inside_of_one_that_was_withdrawn_still_runs(self) -> None:
        cluster = Cluster().node("n", cpu=2).reservation("other", start=900, end=999, on="n", cpu=1)
        cluster = cluster.running("in", on=["n"], cpu=2, started=0, limit=600, reservation="course")
        plan = cluster.job("j", cpu=1, queue="live", limit=60).plan(POLICY)
        assert plan.starts() == {"j": 600}

    def test_a_promise_inside_waits_for_those_who_were_there_before(self) -> None:
        cluster = Cluster().node("n", cpu=2).running("old", on=["n"], cpu=2, started=0, limit=100)
        cluster = cluster.reservation("course", start=60, end=600, on="n")
        plan = cluster.job("j", cpu=1, queue="live", limit=60, reservation="course").plan(POLICY)
        assert plan.starts() == {"j": 100}

    def test_slots_are_shared_with_those_inside(self) -> None:
        cluster = Cluster().node("n", cpu=4, slots=1)
        cluster = cluster.reservation("course", start=0, end=600, on="n", cpu=2)
        cluster = cluster.running("in", on=["n"], cpu=1, started=0, limit=300, reservation="course")
        assert cluster.job("j", cpu=1, queue="live", limit=60).plan(POLICY).starts() == {"j": 300}


@pytest.mark.covers("time-2", "gang-1")
def test_a_promise_to_too_few_of_a_gang_is_not_kept() -> None:
    """The rest of a gang was promised a start, then what ran of it was evicted."""
    cluster = Cluster().nodes("a b", cpu=1).running("old", on=["a"], cpu=1, started=0, limit=60)
    cluster = cluster.job("gang", tasks=3, cpu=1, min_available=2, queue="live", limit=60)
    plan = promised(cluster, "gang", start=0, on="b", ranks=(2,)).plan(POLICY)
    assert plan.places("gang") == []
    assert plan.starts() == {"gang": 60}


@pytest.mark.covers("time-5", "time-3")
class TestEvictedBeforeAnybodyIsServed:
    def test_what_maintenance_evicts_gives_nothing_back_at_its_limit(self) -> None:
        cluster = Cluster().node("n", cpu=1).maintenance("disks", start=0, end=60)
        cluster = cluster.running("old", on=["n"], cpu=1, started=-10, limit=110)
        for name in ("a", "b", "c"):
            cluster = cluster.job(name, cpu=1, limit=50)
        assert cluster.plan(POLICY).starts() == {"a": 60, "b": 110, "c": 160}

    def test_nor_what_a_taint_evicts(self) -> None:
        cluster = (
            Cluster().node("n", cpu=1, taints=["broken:NoExecute"]).maintenance("disks", start=9, end=10)
        )
        cluster = cluster.running("old", on=["n"], cpu=1, started=-10, limit=110)
        for name in ("a", "b", "c"):
            cluster = cluster.job(name, cpu=1, limit=100, tolerates=["broken"])
        assert cluster.plan(POLICY).starts() == {"a": 10, "b": 110, "c": 210}


@pytest.mark.covers("time-6", "time-2")
def test_a_closed_queue_promises_nothing_to_those_who_came_later() -> None:
    cluster = Cluster().node("n", cpu=1).running("run", on=["n"], cpu=1, started=0, limit=60)
    cluster = cluster.queue("live", "closed", since=-60)
    cluster = cluster.job("old", cpu=1, queue="live", limit=60, submitted=-61)
    plan = cluster.job("new", cpu=1, queue="live", limit=60, submitted=-60).plan(POLICY)
    assert plan.starts() == {"old": 60}
    assert plan.reasons("new") == {QueueClosed}


@pytest.mark.covers("time-2")
def test_on_an_idle_cluster_too_a_start_in_the_stated_period_is_promised() -> None:
    plan = Cluster().node("n", cpu=1).job("j", cpu=1, queue="live", limit=60, after=600).plan(POLICY)
    assert plan.starts() == {"j": 600}
    assert plan.is_promised("j")


@pytest.mark.covers("time-3")
class TestPlanning:
    def test_a_node_that_lacks_something_takes_nothing_from_the_others(self) -> None:
        cluster = Cluster().node("over", cpu=1).node("n", cpu=2)
        cluster = cluster.running("much", on=["over"], cpu=9)
        cluster = cluster.running("old", on=["n"], cpu=2, started=0, limit=60).job("j", cpu=2, limit=60)
        assert cluster.plan(POLICY).starts() == {"j": 60}

    def test_queues_of_two_schedulers_with_one_name_are_counted_apart(self) -> None:
        easy = (QueuePolicy(backfill=Backfill.EASY),)
        schedulers = tuple(
            SchedulerPolicy(name, queues=easy, preemption=Preemption(False)) for name in ("one", "two")
        )
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=60)
        cluster = cluster.job("a", cpu=1, limit=60, template={"scheduler": "one"})
        cluster = cluster.job("b", cpu=1, limit=60, template={"scheduler": "two"})
        assert cluster.plan(Policy(schedulers)).starts() == {"a": 60, "b": 120}

    def test_in_a_strict_queue_nobody_is_planned_before_who_has_no_place(self) -> None:
        strict = policy(queues=(QueuePolicy(strict=True, strategy=QueueStrategy.FIFO),), preemption=False)
        cluster = Cluster().node("n", cpu=2).running("endless", on=["n"], cpu=1)
        cluster = cluster.running("other", on=["n"], cpu=0, started=0, limit=60)
        cluster = cluster.job("first", cpu=2, limit=60).job("next", cpu=1, limit=60, submitted=1)
        plan = cluster.plan(strict)
        assert plan.reasons("next") == {BehindInStrictQueue}
        assert plan.starts() == {}


@pytest.mark.covers("time-3", "prio-1")
class TestPlansAndEvictions:
    BUSY = (
        Cluster()
        .nodes("a b", cpu=2)
        .running("old", on=["a"], cpu=2, started=0, limit=60, priority="high")
        .running("low", on=["b"], cpu=1, started=0, limit=60, priority="low", submitted=-1)
        .job("wide", tasks=2, cpu=2, limit=60, priority="high", template={"may_preempt": False})
    )

    def test_nobody_overtakes_by_evicting_no_one(self) -> None:
        """There is room for `long`, but `wide` will need it before it ends: that isn't to be evicted."""
        plan = self.BUSY.job("long", cpu=1, limit=600, submitted=1).plan(EVICTING)
        assert plan.starts() == {"wide": 60, "long": 120}
        assert plan.places("long") == plan.evicts() == []

    def test_a_gang_neither(self) -> None:
        cluster = self.BUSY.node("c", cpu=2).job("early", cpu=1, limit=60, after=30, priority="high")
        plan = cluster.job("long", tasks=2, cpu=1, limit=600, submitted=1, min_available=1).plan(EVICTING)
        assert plan.starts()["wide"] == 60
        assert plan.evicts() == []

    def test_nobody_evicts_into_the_start_of_one_who_is_before(self) -> None:
        """`first` may not evict and waits for the end of `low`; `second` may, and would delay it."""
        cluster = Cluster().node("n", cpu=2)
        cluster = cluster.running("low", on=["n"], cpu=2, started=0, limit=60, priority="low")
        cluster = cluster.job("first", cpu=2, limit=60, priority="high", template={"may_preempt": False})
        plan = cluster.job("second", cpu=2, limit=600, submitted=1).plan(EVICTING)
        assert plan.starts() == {"first": 60, "second": 120}
        assert plan.evicts() == []
        assert cluster.job("second", cpu=2, limit=60, submitted=1).plan(EVICTING).evicts() == ["low"]

    def test_who_evicts_beside_a_planned_start_evicts_no_more_than_it_must(self) -> None:
        cluster = Cluster().node("n", cpu=4)
        cluster = cluster.running("old", on=["n"], cpu=2, started=0, limit=60, priority="high")
        cluster = cluster.running("low", on=["n"], cpu=1, started=0, limit=900, priority="low")
        cluster = cluster.running("also", on=["n"], cpu=1, started=0, limit=900, priority="low")
        cluster = cluster.job("first", cpu=2, limit=60, priority="high", template={"may_preempt": False})
        plan = cluster.job("second", cpu=1, limit=600, submitted=1).plan(EVICTING)
        assert plan.starts() == {"first": 60}
        assert len(plan.evicts()) == 1

    def test_promises_one_after_another_are_kept_from_evictors_one_at_a_time(self) -> None:
        cluster = Cluster().node("n", cpu=2)
        for number in range(3):
            name, start = f"j{number}", 30 + 60 * number
            cluster = promised(cluster.job(name, cpu=1, queue="live", limit=60), name, start=start, on="n")
        cluster = cluster.running("low", on=["n"], cpu=2, started=0, limit=30, priority="low")
        plan = cluster.job("urgent", cpu=1, limit=600, priority="high").plan(EVICTING)
        assert plan.places("urgent") == ["n"]


@pytest.mark.covers("time-4", "prio-1")
def test_nobody_inside_of_a_reservation_is_evicted_in_vain() -> None:
    cluster = Cluster().node("n", cpu=4).reservation("course", start=0, end=600, on="n", cpu=3)
    cluster = cluster.running(
        "in", on=["n"], cpu=3, started=0, limit=300, priority="low", reservation="course"
    )
    cluster = cluster.running("out", on=["n"], cpu=1, started=0, limit=300, priority="low")
    plan = cluster.job("j", cpu=1, limit=60, priority="high").plan(EVICTING)
    assert plan.evicts() == ["out"]
    assert plan.places("j") == ["n"]


@pytest.mark.covers("time-4")
def test_an_outsider_on_a_reserved_device_takes_nothing_from_the_other_devices() -> None:
    cluster = Cluster().node("n", cpu=8, gpus=4)
    cluster = cluster.reservation("course", start=0, end=600, on="n", cpu=1, gpus=1)
    cluster = cluster.running("old", on=["n"], gpu=1, devices=[[3]], started=-60, limit=900)
    assert cluster.job("j", gpu=3, limit=60).plan(POLICY).places("j") == ["n"]


@pytest.mark.covers("time-3")
class TestZeroLimits:
    def test_a_job_that_may_run_for_no_time_starts(self) -> None:
        assert Cluster().node("n", cpu=1).job("j", cpu=1, limit=0).plan(POLICY).places("j") == ["n"]

    def test_and_is_planned_for_the_moment_at_which_there_is_room(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("old", on=["n"], cpu=1, started=0, limit=60)
        cluster = cluster.job("j", cpu=1, limit=0).job("k", cpu=1, limit=60, submitted=1)
        assert cluster.plan(POLICY).starts() == {"j": 60, "k": 60}

    def test_who_comes_behind_it_waits_no_longer_than_a_minute(self) -> None:
        cluster = Cluster().node("n", cpu=1).job("j", cpu=1, limit=0).job("k", cpu=1, limit=60, submitted=1)
        plan = cluster.plan(POLICY)
        assert plan.places("j") == ["n"]
        assert plan.starts() == {"k": 60}


@pytest.mark.covers("gang-4", "time-2")
class TestPartners:
    BUSY = Cluster().node("n", cpu=2).running("old", on=["n"], cpu=2, started=0, limit=60)

    def test_no_promise_is_made_by_the_start_of_a_partner_that_can_still_be_moved(self) -> None:
        cluster = self.BUSY.job("server", cpu=1, limit=600)
        cluster = cluster.job("client", cpu=1, limit=60, queue="live", template={"connect_to": "server"})
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"server": 60}
        assert plan.reasons("client") == {AwaitsPartner}

    def test_by_that_of_one_that_was_promised_its_own_there_is(self) -> None:
        cluster = self.BUSY.job("server", cpu=1, limit=600, queue="live")
        cluster = cluster.job("client", cpu=1, limit=60, queue="live", template={"connect_to": "server"})
        assert cluster.plan(POLICY).starts() == {"server": 60, "client": 60}

    def test_who_finds_room_only_when_its_partner_is_gone_is_planned_nowhere(self) -> None:
        cluster = Cluster().node("n", cpu=2)
        cluster = cluster.running("server", on=["n"], cpu=1, started=0, limit=60)
        cluster = cluster.running("other", on=["n"], cpu=1, started=0, limit=60)
        cluster = cluster.job("client", cpu=1, limit=60, queue="live", template={"connect_to": "server"})
        assert cluster.plan(POLICY).starts() == {}

    def test_nor_is_anybody_planned_whose_partner_is_gone_or_has_no_place(self) -> None:
        cluster = self.BUSY.job("server", cpu=9, limit=60)
        for partner in ("server", "gone"):
            words = {"connect_to": partner}
            plan = cluster.job("client", cpu=1, limit=60, after=30, template=words).plan(POLICY)
            assert plan.starts() == {}


@pytest.mark.covers("why-2", "time-2")
def test_why_can_be_asked_of_a_job_whose_promise_could_not_be_kept() -> None:
    cluster = Cluster().node("n", cpu=2).running("old", on=["n"], cpu=2, started=0, limit=60)
    cluster = promised(cluster.job("j", cpu=2, queue="live", limit=60), "j", start=30, on="gone")
    explanation = explain(snapshot_of(cluster.records), POLICY, NOW_MS, PLUGINS, JobId("j"))
    assert explanation.start_ms == NOW_MS + 60_000
