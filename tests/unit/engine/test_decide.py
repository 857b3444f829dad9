"""The cycle: whose turn it is, who decides, who is asked again, and what becomes of partners."""

import gc
from typing import Any

import pytest

from rota.engine.scope import queue_named, scheduler_for
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import JobTemplate
from rota.model.plan import Binding
from rota.model.policy import (
    FairShare,
    Policy,
    QueuePolicy,
    QueueStrategy,
    Quota,
    SchedulerPolicy,
    Selection,
    Strategy,
    TenantPolicy,
    default_weights,
)
from rota.model.reasons import AwaitsPartner, BehindInStrictQueue, Insufficient, QuotaReached
from tests.builders import Cluster, policy
from tests.words import apart, lie, near, tasks

ONE = Cluster().node("n", cpu=2)


def queues(*made: QueuePolicy) -> Policy:
    return policy(queues=made)


@pytest.mark.covers("decide-8")
class TestQueues:
    def test_a_lower_order_is_served_first_then_the_lower_name(self) -> None:
        rules = queues(QueuePolicy("slow", order=2), QueuePolicy("b", order=1), QueuePolicy("a", order=1))
        cluster = ONE
        for name in ("slow", "b", "a"):
            cluster = cluster.job(f"of-{name}", cpu=1, template={"queue": name})
        plan = cluster.plan(rules)
        assert [binding.job for binding in plan.plan.bindings] == ["of-a", "of-b"]
        assert plan.waiting() == ["of-slow"]

    def test_each_goes_by_its_own_strategy(self) -> None:
        rules = queues(
            QueuePolicy("a", strategy=QueueStrategy.FIFO), QueuePolicy("b", strategy=QueueStrategy.PRIORITY)
        )
        cluster = Cluster().node("n", cpu=9)
        for queue in ("a", "b"):
            cluster = cluster.job(f"{queue}-old", cpu=1, submitted=-9, template={"queue": queue})
            cluster = cluster.job(f"{queue}-high", cpu=1, priority="high", template={"queue": queue})
        order = [binding.job for binding in cluster.plan(rules).plan.bindings]
        assert order == ["a-old", "a-high", "b-high", "b-old"]

    def test_one_that_the_policy_does_not_name_works_like_the_default(self) -> None:
        scheduler = SchedulerPolicy(
            queues=(QueuePolicy("default", QueueStrategy.FIFO, order=3, pools=("p",)),)
        )
        assert queue_named("new", scheduler) == QueuePolicy("new", QueueStrategy.FIFO, order=3)
        assert queue_named("new", SchedulerPolicy(queues=())) == QueuePolicy("new")
        assert queue_named("default", scheduler) is scheduler.queues[0]


@pytest.mark.covers("decide-8")
class TestStrictQueues:
    STRICT = queues(QueuePolicy(strict=True), QueuePolicy("other", order=1))

    def test_nobody_overtakes_the_first_that_cannot_start(self) -> None:
        cluster = (
            ONE.job("a", cpu=1, submitted=-3).job("big", cpu=2, submitted=-2).job("c", cpu=1, submitted=-1)
        )
        plan = cluster.plan(self.STRICT)
        assert plan.places("a") == ["n"]
        assert plan.reasons("big") == {Insufficient}
        assert plan.reasons("c") == {BehindInStrictQueue}
        assert plan.waits("c").refusals[0].reason == BehindInStrictQueue(JobId("big"))

    def test_other_queues_go_on(self) -> None:
        cluster = ONE.job("big", cpu=3).job("other", cpu=1, template={"queue": "other"})
        assert cluster.plan(self.STRICT).places("other") == ["n"]

    def test_nobody_overtakes_when_they_are_asked_again(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=2)
            .node("m", cpu=1)
            .running("low", on=["n"], cpu=2, priority="low")
            .job("big", cpu=2, priority="low", submitted=-9)
            .job("behind", cpu=1, priority="low")
            .job("urgent", cpu=2, priority="high", template={"queue": "other"})
        )
        plan = cluster.plan(self.STRICT)
        assert plan.evicts() == ["low"]
        assert plan.waiting() == ["behind", "big", "low"]


@pytest.mark.covers("decide-11")
class TestSchedulers:
    TWO = (SchedulerPolicy("one", ("x",)), SchedulerPolicy("two"))

    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({"namespace": "x"}, "one"),
            ({"namespace": "y"}, "two"),
            ({"namespace": "x", "scheduler": "two"}, "two"),
            ({"namespace": "y", "scheduler": "one"}, None),
            ({"scheduler": "three"}, None),
        ],
    )
    def test_a_job_is_for_the_one_it_names_or_the_first_whose_scope_it_is_in(
        self, fields: dict[str, str], found: str | None
    ) -> None:
        template = JobTemplate((tasks(1, cpu=1),), **fields)  # type: ignore[arg-type]
        scheduler = scheduler_for(template, self.TWO)
        assert (scheduler.name if scheduler else None) == found

    def test_where_there_is_only_one_its_name_does_not_matter(self) -> None:
        only = (SchedulerPolicy("one", ("x",)),)
        template = JobTemplate((tasks(1, cpu=1),), namespace="x", scheduler="whatever")
        assert scheduler_for(template, only) is only[0]

    def test_each_decides_in_its_own_way_on_the_same_nodes(self) -> None:
        packing = Selection(Strategy.BIN_PACKING)
        rules = Policy(
            (
                SchedulerPolicy("spread", ("x",)),
                SchedulerPolicy(
                    "pack", ("y",), selection=packing, weights=default_weights(Strategy.BIN_PACKING)
                ),
            )
        )
        cluster = Cluster().nodes("a b", cpu=9).running("r", on=["a"], cpu=1)
        cluster = cluster.job("i", cpu=1, template={"namespace": "x"})
        cluster = cluster.job("j", cpu=1, template={"namespace": "y"})
        plan = cluster.plan(rules)
        assert plan.places("i") == ["b"]
        assert plan.places("j") == ["a"]

    def test_together_they_take_no_more_than_there_is(self) -> None:
        cluster = ONE.job("i", cpu=2, template={"namespace": "x"}).job(
            "j", cpu=2, template={"namespace": "y"}
        )
        plan = cluster.plan(Policy(self.TWO))
        assert (plan.places("i"), plan.waiting()) == (["n"], ["j"])


class TestAskedAgain:
    """Who was refused before something happened that could let it start."""

    @pytest.mark.covers("decide-4")
    def test_who_waits_for_company_starts_when_it_comes(self) -> None:
        cluster = ONE.job("a", cpu=1, affinity=[near("host", "app In b")]).job(
            "b", cpu=1, labels={"app": "b"}
        )
        plan = cluster.plan()
        assert (plan.places("a"), plan.places("b")) == (["n"], ["n"])

    @pytest.mark.covers("decide-4")
    def test_whatever_queue_it_waits_in(self) -> None:
        rules = queues(QueuePolicy(), QueuePolicy("later", order=1))
        cluster = ONE.job("a", cpu=1, affinity=[near("host", "app In b")])
        cluster = cluster.job("b", cpu=1, labels={"app": "b"}, template={"queue": "later"})
        assert cluster.plan(rules).waiting() == []

    def test_a_chain_of_them_starts_too(self) -> None:
        cluster = Cluster().node("n", cpu=9)
        for name, company in [("a", "b"), ("b", "c"), ("c", "d")]:
            cluster = cluster.job(name, labels={"app": name}, affinity=[near("host", f"app In {company}")])
        assert cluster.job("d", labels={"app": "d"}).plan().waiting() == []

    @pytest.mark.covers("prio-3")
    def test_who_finds_room_where_a_victim_was(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=4)
            .running("gang", on=["n", "n"], cpu=2, priority="low")
            .job("early", cpu=2, priority="medium", submitted=-9, template={"may_preempt": False})
            .job("urgent", cpu=2, priority="medium")
        )
        plan = cluster.plan(policy(queue="fifo"))
        assert plan.evicts() == ["gang"]
        assert (plan.places("urgent"), plan.places("early")) == (["n"], ["n"])


@pytest.mark.covers("gang-1", "gang-3")
class TestGangs:
    def test_two_that_fit_alone_but_not_together_do_not_hold_each_other_up(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).job("x", cpu=1, tasks=3).job("y", cpu=1, tasks=3)
        plan = cluster.plan()
        assert (len(plan.places("x")), plan.places("y")) == (3, [])

    def test_one_that_does_not_fit_leaves_the_room_to_others(self) -> None:
        cluster = (
            Cluster().nodes("a b", cpu=2).job("x", cpu=1, tasks=5, submitted=-1).job("y", cpu=1, tasks=4)
        )
        plan = cluster.plan()
        assert (plan.places("x"), len(plan.places("y"))) == ([], 4)

    @pytest.mark.covers("gang-2", "why-1")
    def test_what_is_left_of_one_that_starts_in_part_waits_with_its_own_reason(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2)
        plan = cluster.job("j", groups=[tasks(1, cpu=2), tasks(3, cpu=1)], min_available=2).plan()
        assert len(plan.places("j")) == 3
        assert plan.reasons("j") == {Insufficient}
        [refusal] = plan.waits("j").refusals
        assert isinstance(refusal.reason, Insufficient)
        assert refusal.reason.asked == 1000

    @pytest.mark.covers("gang-2", "prio-5")
    def test_what_a_quota_leaves_of_one_that_starts_in_part_waits_for_that(self) -> None:
        rules = Policy(
            fair_share=FairShare(tenants=(TenantPolicy("default", quota=Quota((("cpu", 3000),))),))
        )
        plan = Cluster().node("a", cpu=9).job("j", cpu=1, tasks=5, min_available=2).plan(rules)
        assert len(plan.places("j")) == 3
        assert plan.reasons("j") == {QuotaReached}

    def test_ranks_are_bound_group_by_group(self) -> None:
        cluster = Cluster().node("big", cpu=8).node("small", cpu=2)
        plan = cluster.job("j", groups=[tasks(2, cpu=1), tasks(1, cpu=8)]).plan()
        assert plan.places("j") == ["small", "small", "big"]

    def test_only_the_ranks_that_wait_are_bound(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).running("j", on=["a", "a"], cpu=1, tasks=4, min_available=2)
        assert [(one.rank, one.node) for one in cluster.plan().plan.bindings] == [(2, "b"), (3, "b")]


class TestPartners:
    def test_a_job_waits_for_its_partner_to_be_placed(self) -> None:
        alone = ONE.job("j", cpu=1, template={"connect_to": "p"})
        assert alone.plan().reasons("j") == {AwaitsPartner}
        assert alone.job("p", cpu=9).plan().reasons("j") == {AwaitsPartner}
        assert alone.job("p", cpu=1).plan().waiting() == []
        assert alone.running("p", on=["n"], cpu=1).plan().waiting() == []

    def test_a_partner_that_is_evicted_is_none(self) -> None:
        cluster = (
            Cluster()
            .nodes("m n", cpu=2)
            .running("p", on=["n"], cpu=2, priority="low")
            .job("urgent", cpu=2, priority="high", spec={"node_name": "n"})
            .job("j", cpu=1, template={"connect_to": "p"})
        )
        assert cluster.plan().reasons("j") == {AwaitsPartner}


class TestEqualJobs:
    def test_of_two_that_grow_the_one_that_was_not_evicted_still_does(self) -> None:
        words: dict[str, Any] = {
            "cpu": 2,
            "tasks": 2,
            "min_available": 1,
            "priority": "low",
            "submitted": -99,
        }
        cluster = (
            Cluster()
            .node("n1", cpu=2, labels={"disk": "ssd"})
            .nodes("n2 n3", cpu=2)
            .running("a", on=["n1"], **words)
            .running("b", on=["n2"], **words)
            .job("urgent", cpu=2, priority="high", selector={"disk": "ssd"})
        )
        plan = cluster.plan()
        assert plan.evicts() == ["a"]
        assert plan.places("b") == ["n3"]
        assert plan.waiting() == ["a"]

    @pytest.mark.covers("decide-4")
    def test_of_two_that_grow_the_one_whose_domain_has_room_does(self) -> None:
        cluster = (
            Cluster()
            .node("a1", cpu=2, zone="a")
            .nodes("b1 b2", cpu=2, zone="b")
            .running("x", on=["a1"], cpu=2, tasks=2, min_available=1, topology=[lie("zone", "same")])
            .running("y", on=["b1"], cpu=2, tasks=2, min_available=1, topology=[lie("zone", "same")])
        )
        plan = cluster.plan()
        assert plan.places("y") == ["b2"]
        assert plan.waiting() == ["x"]

    def test_as_many_start_as_there_is_room_for_and_the_rest_waits(self) -> None:
        cluster = Cluster().nodes("a b", cpu=50)
        for number in range(120):
            cluster = cluster.job(f"j{number:03}", cpu=1)
        plan = cluster.plan()
        assert [one.job for one in plan.plan.bindings] == [f"j{number:03}" for number in range(100)]
        [waiting] = plan.plan.waiting
        assert list(waiting.jobs) == [f"j{number:03}" for number in range(100, 120)]

    @pytest.mark.covers("decide-2")
    def test_each_gets_its_own_devices(self) -> None:
        cluster = Cluster().node("n", cpu=9, gpus=2)
        for name in "abcd":
            cluster = cluster.job(name, gpu=0.5)
        plan = cluster.plan()
        assert [plan.devices(name) for name in "abcd"] == [[(0,)], [(0,)], [(1,)], [(1,)]]


@pytest.mark.covers("decide-1")
class TestPure:
    CLUSTER = (
        Cluster()
        .nodes("a b c", cpu=4, gpus=1)
        .running("r", on=["a"], cpu=3, priority="low", labels={"app": "r"})
        .job("x", cpu=2, tasks=3)
        .job("y", gpu=0.5, affinity=[apart("host", "app In r")])
        .job("z", cpu=4, priority="high")
    )

    def test_deciding_twice_gives_the_same_plan(self) -> None:
        assert self.CLUSTER.plan().plan == self.CLUSTER.plan().plan

    def test_the_order_of_the_records_does_not_matter(self) -> None:
        records = self.CLUSTER.records
        turned = Cluster(
            type(records)(nodes=records.nodes[::-1], offers=records.offers, jobs=records.jobs[::-1])
        )
        assert turned.plan().plan == self.CLUSTER.plan().plan

    def test_an_empty_cluster_has_an_empty_plan(self) -> None:
        plan = Cluster().plan().plan
        assert (plan.bindings, plan.evictions, plan.waiting, plan.faults) == ((), (), (), ())


def test_a_binding_says_which_task_goes_where() -> None:
    plan = ONE.job("j", cpu=1, template={"queue": QueueName("q")}).plan()
    assert plan.plan.bindings == (Binding(JobId("j"), 0, NodeName("n")),)


@pytest.mark.covers("time-6")
def test_who_never_can_start_does_not_hold_up_a_strict_queue() -> None:
    strict = policy(queues=(QueuePolicy(strict=True),))
    plan = Cluster().node("n", cpu=2).job("huge", cpu=9, submitted=-9).job("behind", cpu=1).plan(strict)
    assert plan.places("behind") == ["n"]


@pytest.mark.slow
def test_nothing_of_a_cycle_outlives_its_plan() -> None:
    """Columns of a large cluster are copied for each: they must not wait for a collection of garbage."""
    cluster = ONE.job("starts", cpu=1).job("waits", cpu=4)
    cluster.plan()  # what is loaded once
    gc.collect()
    gc.disable()
    try:
        cluster.plan()
        assert gc.collect() == 0
    finally:
        gc.enable()
