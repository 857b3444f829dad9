"""Interactive queues: a concrete start, in the order in which jobs came, and it is kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.model.ids import NodeName
from rota.model.job import Placement, Promise
from rota.model.policy import Durations, FairShare, Policy, QueuePolicy, Quota, TenantPolicy
from rota.model.reasons import PeriodMissed, PromisedLater, RoomPlanned, TooEarly
from tests.builders import Cluster, Planned, policy
from tests.words import NOW_MS, apart

POLICY = policy(queues=(QueuePolicy("live", interactive=True, order=-1), QueuePolicy()), preemption=False)
BUSY = Cluster().node("n", cpu=2).running("old", on=["n"], cpu=2, started=0, limit=60)


def told(cluster: Cluster, plan: Planned) -> Cluster:
    """The cluster after every promised start was put on record."""
    promises = {one.job: Promise(one.start_ms, one.placements) for one in plan.plan.starts if one.promised}
    jobs = tuple(
        replace(record, promise=promises.get(record.job.id, record.promise))
        for record in cluster.records.jobs
    )
    return Cluster(replace(cluster.records, jobs=jobs), cluster.run_times)


def promised(cluster: Cluster, name: str, *, start: float, on: str) -> Cluster:
    jobs = tuple(
        replace(record, promise=Promise(at := NOW_MS + int(start * 1000), (Placement(0, NodeName(on), at),)))
        if record.job.id == name
        else record
        for record in cluster.records.jobs
    )
    return Cluster(replace(cluster.records, jobs=jobs))


@pytest.mark.covers("time-2")
class TestPromising:
    def test_who_fits_starts_at_once(self) -> None:
        plan = Cluster().node("n", cpu=2).job("j", cpu=1, queue="live", limit=60).plan(POLICY)
        assert plan.places("j") == ["n"]
        assert plan.starts() == {}

    def test_who_does_not_is_promised_the_earliest_start(self) -> None:
        plan = BUSY.job("j", cpu=1, queue="live", limit=60).plan(POLICY)
        assert plan.start("j") == 60
        assert plan.is_promised("j")
        assert plan.start_places("j") == ["n"]

    def test_first_come_first_served_whatever_the_priority(self) -> None:
        cluster = BUSY.job("first", cpu=2, queue="live", limit=60).job(
            "second", cpu=2, queue="live", limit=60, priority="critical", submitted=1
        )
        assert cluster.plan(POLICY).starts() == {"first": 60, "second": 120}

    def test_a_later_job_may_fit_before_an_earlier_one(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=2)
            .running("old", on=["n"], cpu=1, started=0, limit=60)
            .job("wide", cpu=2, queue="live", limit=60)
            .job("narrow", cpu=1, queue="live", limit=60, submitted=1)
        )
        plan = cluster.plan(POLICY)
        assert plan.start("wide") == 60
        assert plan.places("narrow") == ["n"]

    def test_the_period_that_its_user_stated_is_honoured(self) -> None:
        plan = BUSY.job("j", cpu=1, queue="live", limit=60, after=1000, before=2000).plan(POLICY)
        assert plan.start("j") == 1000
        assert plan.reasons("j") == {TooEarly}

    def test_no_start_is_promised_outside_the_period(self) -> None:
        plan = BUSY.job("j", cpu=1, queue="live", limit=60, before=59).plan(POLICY)
        assert plan.starts() == {}

    def test_who_missed_the_period_will_not_start(self) -> None:
        plan = BUSY.job("j", cpu=1, queue="live", limit=60, before=-1).plan(POLICY)
        assert plan.reasons("j") == {PeriodMissed}

    def test_batch_jobs_planned_before_do_not_count(self) -> None:
        last = policy(
            queues=(QueuePolicy("live", interactive=True, order=9), QueuePolicy()), preemption=False
        )
        cluster = BUSY.job("batch", cpu=2, limit=600).job("j", cpu=1, queue="live", limit=60, submitted=1)
        plan = cluster.plan(last)
        assert plan.starts() == {"batch": 60, "j": 60}


@pytest.mark.covers("time-2")
class TestKeeping:
    def test_it_starts_on_the_nodes_and_devices_it_was_promised(self) -> None:
        cluster = (
            Cluster().nodes("a b", gpus=2).running("x", on=["b"], devices=[[0]], gpu=1, started=0, limit=9)
        )
        cluster = cluster.running("y", on=["a"], devices=[[0]], gpu=2, started=0, limit=50)
        cluster = cluster.job("j", gpu=2, queue="live", limit=60)
        plan = cluster.plan(POLICY)
        assert (plan.start("j"), plan.start_places("j")) == (9, ["b"])
        later = told(cluster, plan)
        gone = replace(later.records, jobs=tuple(one for one in later.records.jobs if one.job.id != "x"))
        kept = Cluster(gone).plan(POLICY, now=9)
        assert kept.places("j") == ["b"]
        assert kept.devices("j") == [(0, 1)]

    def test_batch_jobs_that_would_run_into_it_wait(self) -> None:
        cluster = promised(
            Cluster().node("n", cpu=2).job("j", cpu=2, queue="live", limit=60, after=30),
            "j",
            start=30,
            on="n",
        )
        plan = (
            cluster.job("long", cpu=1, limit=31)
            .job("short", cpu=1, limit=30)
            .job("endless", cpu=1)
            .plan(POLICY)
        )
        assert plan.places("short") == ["n"]
        assert plan.places("long") == plan.places("endless") == []
        [refusal] = plan.waits("long").refusals
        assert isinstance(refusal.reason, RoomPlanned)
        assert refusal.reason.job == "j"
        assert plan.start("long") == 90

    def test_learnt_run_times_do_not_break_it(self) -> None:
        learnt = policy(
            queues=(QueuePolicy("live", interactive=True), QueuePolicy(durations=Durations.LEARNT)),
            preemption=False,
        )
        cluster = promised(
            Cluster().node("n", cpu=2).job("j", cpu=2, queue="live", limit=60, after=30),
            "j",
            start=30,
            on="n",
        )
        plan = cluster.job("batch", cpu=1, limit=3600).learnt(lambda _: (1000,)).plan(learnt)
        assert plan.places("batch") == []

    def test_nobody_evicts_into_it(self) -> None:
        cluster = promised(
            Cluster().node("n", cpu=2).job("j", cpu=2, queue="live", limit=60, after=30),
            "j",
            start=30,
            on="n",
        )
        cluster = cluster.running("low", on=["n"], cpu=2, started=0, limit=30, priority="low")
        evicting = policy(queues=(QueuePolicy("live", interactive=True), QueuePolicy()))
        assert cluster.job("long", cpu=2, limit=31, priority="high").plan(evicting).evicts() == []
        assert cluster.job("short", cpu=2, limit=30, priority="high").plan(evicting).evicts() == ["low"]

    def test_who_overstays_delays_it_and_it_stays_first(self) -> None:
        cluster = promised(BUSY.job("j", cpu=2, queue="live", limit=60), "j", start=60, on="n")
        plan = cluster.job("rival", cpu=2, queue="live", limit=60, submitted=-5).plan(POLICY, now=61)
        assert plan.reasons("j") == {PromisedLater}
        assert plan.places("rival") == []

    def test_where_its_node_is_gone_it_is_given_anew(self) -> None:
        cluster = promised(
            BUSY.node("m", cpu=2).job("j", cpu=2, queue="live", limit=60), "j", start=60, on="lost"
        )
        assert cluster.plan(POLICY).places("j") == ["m"]

    def test_where_its_node_is_closed_it_is_given_anew(self) -> None:
        cluster = Cluster().node("m", cpu=2, cordoned=True).node("n", cpu=2)
        cluster = cluster.running("old", on=["n"], cpu=2, started=0, limit=60)
        cluster = promised(cluster.job("j", cpu=2, queue="live", limit=60), "j", start=30, on="m")
        assert cluster.plan(POLICY).starts() == {"j": 60}

    def test_where_maintenance_was_announced_it_is_given_anew(self) -> None:
        cluster = promised(BUSY.job("j", cpu=2, queue="live", limit=60), "j", start=60, on="n")
        plan = cluster.maintenance("disks", start=100, end=200).plan(POLICY)
        assert plan.starts() == {"j": 200}

    def test_a_paused_queue_keeps_its_promises(self) -> None:
        cluster = promised(
            Cluster().node("n", cpu=2).job("j", cpu=2, queue="live", limit=60, after=30),
            "j",
            start=30,
            on="n",
        )
        assert cluster.queue("live", "paused").plan(POLICY, now=30).places("j") == ["n"]


IDLE = Cluster().node("n", cpu=2)


@pytest.mark.covers("time-2")
class TestStartingSooner:
    """What is promised is the latest start: whoever has its seats before, and nobody else's, starts then."""

    def test_it_starts_as_soon_as_its_seats_are_free(self) -> None:
        cluster = promised(IDLE.job("j", cpu=2, queue="live", limit=60), "j", start=30, on="n")
        plan = cluster.plan(POLICY)
        assert plan.places("j") == ["n"]
        assert plan.starts() == {}

    def test_a_job_that_seemed_to_be_past_its_limit_and_ends_keeps_nobody_waiting(self) -> None:
        """As where clocks of machines differ: it is taken to be gone in a minute, and is so at once."""
        cluster = BUSY.job("j", cpu=2, queue="live", limit=60)
        plan = cluster.plan(POLICY, now=62)
        assert plan.start("j") == 122
        later = told(cluster, plan)
        gone = replace(later.records, jobs=tuple(one for one in later.records.jobs if one.job.id != "old"))
        assert Cluster(gone).plan(POLICY, now=63).places("j") == ["n"]

    def test_not_before_the_time_that_its_user_asked_for(self) -> None:
        cluster = promised(IDLE.job("j", cpu=2, queue="live", limit=60, after=30), "j", start=30, on="n")
        plan = cluster.plan(POLICY)
        assert plan.reasons("j") == {PromisedLater}
        assert plan.starts() == {"j": 30}
        assert cluster.plan(POLICY, now=30).places("j") == ["n"]

    def test_not_before_its_reservation_begins(self) -> None:
        cluster = IDLE.reservation("exam", start=30, end=200, on="n").job(
            "j", cpu=2, queue="live", limit=60, reservation="exam"
        )
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"j": 30}
        assert told(cluster, plan).plan(POLICY, now=29).starts() == {"j": 30}
        assert told(cluster, plan).plan(POLICY, now=30).places("j") == ["n"]

    def test_not_into_a_start_that_was_promised_to_another(self) -> None:
        cluster = IDLE.job("soon", cpu=2, queue="live", limit=60, after=30).job(
            "then", cpu=1, queue="live", limit=60
        )
        cluster = promised(promised(cluster, "soon", start=30, on="n"), "then", start=90, on="n")
        assert cluster.plan(POLICY).starts() == {"soon": 30, "then": 90}
        short = IDLE.job("soon", cpu=2, queue="live", limit=60, after=30).job(
            "then", cpu=1, queue="live", limit=30
        )
        short = promised(promised(short, "soon", start=30, on="n"), "then", start=90, on="n")
        assert short.plan(POLICY).places("then") == ["n"]

    def test_not_into_what_is_announced(self) -> None:
        cluster = promised(IDLE.job("j", cpu=1, queue="live", limit=60), "j", start=200, on="n")
        for announced in (
            cluster.maintenance("disks", start=59, end=200),
            cluster.reservation("exam", start=59, end=200, on="n"),
        ):
            assert announced.plan(POLICY).starts() == {"j": 200}
        assert cluster.maintenance("disks", start=60, end=200).plan(POLICY).places("j") == ["n"]

    def test_who_starts_sooner_gives_its_time_back(self) -> None:
        cluster = promised(IDLE.job("j", cpu=2, queue="live", limit=60), "j", start=500, on="n")
        plan = cluster.job("batch", cpu=2, limit=600).plan(POLICY)
        assert plan.places("j") == ["n"]
        assert plan.starts() == {"batch": 60}

    def test_all_of_a_gang_or_none(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).running("old", on=["b"], cpu=2, started=0, limit=60)
        cluster = cluster.job("j", cpu=2, tasks=2, queue="live", limit=60)
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"j": 60}
        later = told(cluster, plan)
        assert later.plan(POLICY, now=10).starts() == {"j": 60}
        gone = replace(later.records, jobs=tuple(one for one in later.records.jobs if one.job.id != "old"))
        assert Cluster(gone).plan(POLICY, now=10).places("j") == plan.start_places("j")

    def test_seats_of_one_job_on_one_node_are_added_up(self) -> None:
        cluster = IDLE.job("soon", cpu=1, queue="live", limit=60, after=30)
        cluster = cluster.job("j", cpu=1, tasks=2, queue="live", limit=60)
        cluster = promised(cluster, "soon", start=30, on="n")
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"soon": 30, "j": 90}
        assert told(cluster, plan).plan(POLICY, now=1).starts() == {"soon": 30, "j": 90}

    def test_devices_are_those_that_were_promised(self) -> None:
        cluster = (
            Cluster()
            .node("n", gpus=2)
            .running("x", on=["n"], devices=[[0]], gpu=1, started=0, limit=50)
            .job("first", gpu=1, queue="live", limit=60, after=20)
            .job("j", gpu=1, queue="live", limit=60, submitted=1)
        )
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"first": 20, "j": 50}
        later = told(cluster, plan)
        assert later.plan(POLICY, now=5).starts() == {"first": 20, "j": 50}
        gone = replace(later.records, jobs=tuple(one for one in later.records.jobs if one.job.id != "x"))
        assert Cluster(gone).plan(POLICY, now=5).devices("j") == [(0,)]

    def test_not_beside_whom_it_must_keep_away_from(self) -> None:
        cluster = Cluster().node("n", cpu=2, zone="z")
        cluster = cluster.running("old", on=["n"], cpu=1, started=0, limit=60, labels={"app": "old"})
        cluster = cluster.job("j", cpu=1, queue="live", limit=60, affinity=[apart("zone", "app In old")])
        plan = cluster.plan(POLICY)
        assert plan.starts() == {"j": 60}
        later = told(cluster, plan)
        assert later.plan(POLICY, now=10).starts() == {"j": 60}
        gone = replace(later.records, jobs=tuple(one for one in later.records.jobs if one.job.id != "old"))
        assert Cluster(gone).plan(POLICY, now=10).places("j") == ["n"]

    def test_a_paused_queue_starts_nobody_sooner(self) -> None:
        cluster = promised(IDLE.job("j", cpu=2, queue="live", limit=60), "j", start=30, on="n")
        assert cluster.queue("live", "paused").plan(POLICY).starts() == {"j": 30}

    def test_not_beyond_a_quota(self) -> None:
        cluster = IDLE.running("mine", on=["n"], cpu=1, started=0, limit=900, template={"project": "p"})
        cluster = cluster.job("j", cpu=1, queue="live", limit=60, template={"project": "p"})
        cluster = promised(cluster, "j", start=30, on="n")

        def with_quota(cpu_milli: int) -> Policy:
            tenants = (TenantPolicy("p", quota=Quota((("cpu", cpu_milli),))),)
            return replace(POLICY, fair_share=FairShare(tenants=tenants))

        assert cluster.plan(with_quota(1000)).starts() == {"j": 30}
        assert cluster.plan(with_quota(2000)).places("j") == ["n"]
