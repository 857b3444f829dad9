"""Who may evict whom: by class, for a quota, by a taint; and what is kept on record."""

from typing import Any, ClassVar

import pytest

from rota.engine.evicting.evict import may_preempt
from rota.model.ids import JobId
from rota.model.job import JobTemplate
from rota.model.plan import Eviction, EvictionCause
from rota.model.policy import (
    FairShare,
    Policy,
    Promotion,
    Quota,
    Reclaim,
    SchedulerPolicy,
    TenantPolicy,
)
from rota.model.reasons import EvictedByTaint, QuotaReached, WasPreempted
from rota.model.taints import Effect, Taint, Toleration
from rota.model.verdict import Refusal
from tests.builders import Cluster, policy
from tests.words import NOW_MS, tasks

FULL = Cluster().node("n", cpu=2)


def evicts(victim: dict[str, Any], new: dict[str, Any], rules: Policy | None = None) -> bool:
    """Whether a job takes the node from another that has all of it."""
    cluster = FULL.running("old", on=["n"], cpu=2, **victim).job("new", cpu=2, **new)
    return cluster.plan(rules).evicts() == ["old"]


@pytest.mark.covers("prio-1")
class TestByClass:
    CLASSES = ("batch", "low", "medium", "high", "critical")

    @pytest.mark.parametrize("new", CLASSES)
    @pytest.mark.parametrize("old", CLASSES)
    def test_from_medium_up_a_class_preempts_the_lower_ones(self, new: str, old: str) -> None:
        higher = self.CLASSES.index(new) > self.CLASSES.index(old)
        allowed = higher and new not in ("batch", "low")
        assert evicts({"priority": old}, {"priority": new}) is allowed

    @pytest.mark.parametrize(
        ("priority", "given", "may"),
        [(-2000, None, False), (-1, None, False), (0, None, True), (-2000, True, True), (1000, False, False)],
    )
    def test_a_job_may_say_otherwise(self, priority: int, given: bool | None, may: bool) -> None:
        assert may_preempt(JobTemplate((tasks(1, cpu=1),), may_preempt=given), priority) is may

    def test_numbers_between_the_classes_are_classes_too(self) -> None:
        assert evicts({"priority": 4}, {"priority": 5})
        assert not evicts({"priority": 5}, {"priority": 5})


@pytest.mark.covers("prio-4")
class TestLeftAlone:
    LOW: ClassVar[dict[str, Any]] = {"priority": "low"}
    HIGH: ClassVar[dict[str, Any]] = {"priority": "high"}

    def test_where_preemption_is_off(self) -> None:
        assert not evicts(self.LOW, self.HIGH, policy(preemption=False))

    def test_who_is_marked_so(self) -> None:
        assert not evicts({**self.LOW, "template": {"preemptible": False}}, self.HIGH)

    @pytest.mark.parametrize(("ran", "evicted"), [(59, False), (60, True), (61, True)])
    def test_who_has_not_run_for_long(self, ran: int, evicted: bool) -> None:
        assert evicts({**self.LOW, "started": -ran}, self.HIGH, policy(min_run=60)) is evicted

    @pytest.mark.covers("prio-3")
    def test_who_had_evicted_it_before(self) -> None:
        assert not evicts(self.LOW, {**self.HIGH, "job": {"preempted_by": (JobId("old"),)}})
        assert evicts(self.LOW, {**self.HIGH, "job": {"preempted_by": (JobId("other"),)}})

    def test_a_jobs_own_tasks(self) -> None:
        cluster = FULL.running("j", on=["n"], cpu=2, tasks=2, min_available=1, priority="high")
        assert cluster.plan().evicts() == []

    @pytest.mark.covers("prio-2")
    def test_who_got_more_in_the_same_plan(self) -> None:
        cluster = (
            Cluster()
            .nodes("m n", cpu=2)
            .running("grows", on=["m"], cpu=2, tasks=2, min_available=1, priority="low", submitted=-99)
            .job("first", cpu=2, priority="low", submitted=-200)
            .job("new", cpu=2, priority="high")
        )
        # "new" comes first by its class, so it takes the free node; nothing is evicted.
        assert cluster.plan().evicts() == []
        fifo = policy(queue="fifo")
        grown = (
            Cluster()
            .nodes("m n", cpu=2)
            .running("grows", on=["m"], cpu=2, tasks=2, min_available=1, priority="low", submitted=-99)
            .job("new", cpu=2, priority="high")
            .plan(fifo)
        )
        assert grown.places("grows") == ["n"]
        assert grown.evicts() == []

    def test_no_one_evicts_what_this_plan_has_just_placed(self) -> None:
        cluster = FULL.job("first", cpu=2, priority="low", submitted=-9).job("new", cpu=2, priority="high")
        plan = cluster.plan(policy(queue="fifo"))
        assert (plan.places("first"), plan.evicts(), plan.waiting()) == (["n"], [], ["new"])


@pytest.mark.covers("prio-6")
class TestPromoted:
    AGING = policy(promotion=Promotion(every_ms=100_000))

    def test_who_has_risen_may_preempt(self) -> None:
        aged = {"priority": "low", "submitted": -250}
        assert not evicts({"priority": "batch"}, aged)
        assert evicts({"priority": "batch"}, aged, self.AGING)

    def test_what_a_job_had_risen_to_when_it_started_it_keeps(self) -> None:
        risen = {"priority": "batch", "submitted": -450, "started": -100}
        assert evicts(risen, {"priority": "high"})
        assert not evicts(risen, {"priority": "high"}, self.AGING)

    def test_what_its_retries_raised_it_to_it_keeps_too(self) -> None:
        tried = {"priority": "low", "job": {"retries": 3}}
        assert evicts(tried, {"priority": "medium"})
        assert not evicts(tried, {"priority": "medium"}, policy(promotion=Promotion(retry_budget=3)))

    def test_while_it_runs_it_rises_no_further(self) -> None:
        short = {"priority": "batch", "submitted": -450, "started": -400}
        assert evicts(short, {"priority": "high"}, self.AGING)

    def test_a_taint_elsewhere_makes_no_difference(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=2)
            .node("burns", cpu=2, taints=["fire:NoExecute"])
            .running("gone", on=["burns"], cpu=2)
            .running("old", on=["n"], cpu=2, priority="batch", submitted=-450, started=-100)
            .job("new", cpu=2, priority="high")
        )
        assert cluster.plan(self.AGING).evicts() == ["gone"]

    @pytest.mark.covers("decide-11")
    def test_a_running_job_keeps_what_its_own_scheduler_gave_it(self) -> None:
        rules = Policy(
            (
                SchedulerPolicy("plain", ("a",)),
                SchedulerPolicy("aging", ("b",), promotion=Promotion(every_ms=100_000)),
            )
        )
        victim: dict[str, Any] = {"priority": "batch", "submitted": -450, "started": -100}
        plain, aged = victim | {"template": {"namespace": "a"}}, victim | {"template": {"namespace": "b"}}
        for namespace in ("a", "b"):
            new = {"priority": "high", "template": {"namespace": namespace}}
            assert evicts(plain, new, rules)
            assert not evicts(aged, new, rules)


class TestOnRecord:
    @pytest.mark.covers("prio-2")
    def test_an_eviction_says_who_where_why_and_for_whom(self) -> None:
        cluster = Cluster().nodes("m n", cpu=2).running("old", on=["n", "m"], cpu=2, priority="low")
        plan = cluster.job("new", cpu=2, priority="high").plan()
        assert sorted(plan.plan.evictions, key=lambda one: one.rank) == [
            Eviction(JobId("old"), rank, node, EvictionCause.PREEMPTED, JobId("new"))  # type: ignore[arg-type]
            for rank, node in enumerate(["n", "m"])
        ]
        [refusal] = plan.waits("old").refusals
        assert refusal == Refusal(WasPreempted(JobId("new")), 0)

    @pytest.mark.covers("prio-2")
    def test_what_still_waited_of_an_evicted_job_waits_for_the_same_reason(self) -> None:
        cluster = FULL.running("old", on=["n"], cpu=2, tasks=3, min_available=1, priority="low")
        plan = cluster.job("new", cpu=2, priority="high").plan()
        assert plan.reasons("old") == {WasPreempted}
        assert plan.waiting() == ["old"]

    @pytest.mark.covers("prio-3")
    def test_the_room_is_the_preemptors_alone(self) -> None:
        cluster = FULL.running("old", on=["n"], cpu=2, priority="low")
        cluster = cluster.job("new", cpu=1, priority="high").job("other", cpu=2, priority="low")
        plan = cluster.plan()
        assert plan.places("new") == ["n"]
        assert plan.waiting() == ["old", "other"]

    def test_what_the_preemptor_leaves_others_may_have(self) -> None:
        cluster = FULL.running("old", on=["n"], cpu=2, priority="low")
        plan = cluster.job("new", cpu=1, priority="high").job("small", cpu=1, priority="low").plan()
        assert (plan.places("new"), plan.places("small")) == (["n"], ["n"])


@pytest.mark.covers("decide-5")
class TestByTaint:
    @staticmethod
    def plan(bears: Toleration | None, ago: float = 10, **words: Any) -> list[str]:
        fire = Taint("fire", Effect.NO_EXECUTE, added_ms=NOW_MS - int(ago * 1000))
        cluster = Cluster().node("n", cpu=9, taints=[fire]).node("m", cpu=9)
        words = {"on": ["n"], **words}
        return cluster.running("r", tolerates=[bears] if bears else [], **words).plan().evicts("r")

    def test_what_does_not_bear_it_goes_at_once(self) -> None:
        assert self.plan(None) == ["n"]
        assert self.plan(Toleration("flood", exists=True)) == ["n"]

    def test_what_bears_it_stays(self) -> None:
        assert self.plan(Toleration("fire", exists=True)) == []

    @pytest.mark.parametrize(("seconds", "stays"), [(9, False), (10, False), (11, True)])
    def test_what_bears_it_for_a_while_stays_for_that_while(self, seconds: int, stays: bool) -> None:
        assert (self.plan(Toleration("fire", exists=True, seconds=seconds)) == []) is stays

    def test_a_gang_goes_as_a_whole_unless_it_can_spare_who_goes(self) -> None:
        assert self.plan(None, on=["n", "m", "m"]) == ["n", "m", "m"]
        assert self.plan(None, on=["n", "m", "m"], min_available=2) == ["n"]

    def test_taints_that_only_keep_out_evict_nobody(self) -> None:
        cluster = Cluster().node("n", cpu=9, taints=["x:NoSchedule", "y:PreferNoSchedule"])
        assert cluster.running("r", on=["n"]).plan().evicts() == []

    def test_the_job_waits_with_that_reason_and_its_room_is_free(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=2, taints=["fire:NoExecute"])
            .running("r", on=["n"], cpu=2)
            .job("bold", cpu=2, tolerates=["fire"])
        )
        plan = cluster.plan()
        assert plan.reasons("r") == {EvictedByTaint}
        assert plan.places("bold") == ["n"]
        assert [one.cause for one in plan.plan.evictions] == [EvictionCause.TAINT]


def cores(amount: int) -> Quota:
    return Quota((("cpu", amount * 1000),))


@pytest.mark.covers("prio-5")
class TestForAQuota:
    """Tenants a and b own 4 cores each, and b has borrowed two of a's."""

    CLUSTER = (
        Cluster()
        .node("n", cpu=8)
        .running("b-old", on=["n"] * 4, cpu=1, template={"project": "b"}, started=-900)
        .running("b-x", on=["n"], cpu=1, template={"project": "b"}, started=-500)
        .running("b-y", on=["n"], cpu=1, template={"project": "b"}, started=-100)
    )

    @staticmethod
    def rules(reclaim: Reclaim = Reclaim.ANY, **fields: Any) -> Policy:
        tenants = (TenantPolicy("a", quota=cores(4)), TenantPolicy("b", quota=cores(4)))
        return Policy((SchedulerPolicy(**fields),), FairShare(tenants=tenants, reclaim=reclaim))

    def asking(self, cpu: int, **words: Any) -> Cluster:
        return self.CLUSTER.job("new", cpu=cpu, template={"project": "a"}, **words)

    def test_within_the_pool_nobody_goes(self) -> None:
        plan = self.asking(2).plan(self.rules())
        assert (plan.places("new"), plan.evicts()) == (["n"], [])

    @pytest.mark.parametrize(("cpu", "gone"), [(3, ["b-y"]), (4, ["b-x", "b-y"])])
    def test_who_borrows_goes_the_one_who_loses_least_first(self, cpu: int, gone: list[str]) -> None:
        plan = self.asking(cpu).plan(self.rules())
        assert (plan.places("new"), plan.evicts(by="new")) == (["n"], gone)
        assert {one.cause for one in plan.plan.evictions} == {EvictionCause.RECLAIMED}

    def test_even_for_a_job_of_a_lower_class(self) -> None:
        assert self.asking(3, priority="batch").plan(self.rules()).evicts() == ["b-y"]

    def test_not_for_a_job_of_a_lower_class_where_the_policy_says_so(self) -> None:
        rules = self.rules(Reclaim.LOWER_PRIORITY)
        assert self.asking(3).plan(rules).evicts() == []
        assert self.asking(3, priority="high").plan(rules).evicts() == ["b-y"]

    def test_nobody_where_nothing_is_taken_back(self) -> None:
        plan = self.asking(3, priority="low").plan(self.rules(Reclaim.NEVER))
        assert plan.evicts() == []
        assert plan.reasons("new") == {QuotaReached}

    def test_nobody_for_what_would_itself_be_borrowed(self) -> None:
        assert self.asking(5).plan(self.rules()).evicts() == []

    def test_nobody_who_keeps_within_its_own(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8)
            .running("b", on=["n"] * 4, cpu=1, template={"project": "b"}, min_available=1)
            .running("a", on=["n"] * 4, cpu=1, template={"project": "a"}, min_available=1)
            .job("new", cpu=1, template={"project": "a"})
        )
        assert cluster.plan(self.rules()).evicts() == []

    def test_nobody_if_the_job_would_not_fit_then(self) -> None:
        cluster = Cluster().nodes("m n", cpu=4)
        cluster = cluster.running("b", on=["m", "m", "m", "n", "n", "n"], cpu=1, template={"project": "b"})
        plan = cluster.job("new", cpu=4, template={"project": "a"}, selector={"x": "y"}).plan(self.rules())
        assert plan.evicts() == []

    def test_ones_own_of_a_lower_class_go_for_a_higher(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8)
            .running("a-low", on=["n"] * 4, cpu=1, template={"project": "a"}, priority="low", min_available=1)
            .running("b", on=["n"] * 4, cpu=1, template={"project": "b"})
            .job("new", cpu=2, template={"project": "a"}, priority="high")
        )
        plan = cluster.plan(self.rules())
        assert plan.places("new") == ["n"]
        assert plan.evicts("a-low") == ["n", "n"]
        assert plan.evicts() == ["a-low"]

    def test_a_gang_within_its_own_gets_all_it_needs(self) -> None:
        plan = self.asking(1, tasks=4).plan(self.rules())
        assert plan.places("new") == ["n"] * 4
        assert plan.evicts() == ["b-x", "b-y"]

    def test_borrowers_make_room_on_nodes_too(self) -> None:
        tenants = tuple(TenantPolicy(name, quota=cores(4)) for name in "abc")
        cluster = Cluster().node("n", cpu=8)
        cluster = cluster.running("b", on=["n"] * 8, cpu=1, template={"project": "b"}, min_available=1)
        cluster = cluster.job("new", cpu=2, priority="low", template={"project": "a"})
        for reclaim, gone in [(Reclaim.ANY, 2), (Reclaim.NEVER, 0)]:
            rules = Policy(fair_share=FairShare(tenants=tenants, reclaim=reclaim))
            plan = cluster.plan(rules)
            assert len(plan.evicts("b")) == gone
            assert {one.cause for one in plan.plan.evictions} <= {EvictionCause.RECLAIMED}

    def test_the_core_of_a_gang_takes_its_spare_tasks_along(self) -> None:
        cluster = Cluster().node("n", cpu=8)
        cluster = cluster.running("b", on=["n"] * 6, cpu=1, template={"project": "b"}, min_available=5)
        plan = cluster.job("new", cpu=4, template={"project": "a"}).plan(self.rules())
        assert plan.places("new") == ["n"]
        assert len(plan.evicts("b")) == 6

    def test_what_was_tried_in_vain_leaves_no_trace(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8)
            .running("b1", on=["n"] * 4, cpu=1, template={"project": "b"})
            .running("b2", on=["n"] * 3, cpu=1, template={"project": "b"})
            .job("vain", cpu=4, selector={"no": "such"}, submitted=-9, template={"project": "a"})
            .job("b-large", cpu=2, priority="low", submitted=-5, template={"project": "b"})
            .job("b-small", cpu=1, priority="low", template={"project": "b"})
        )
        plan = cluster.plan(self.rules())
        assert plan.evicts() == []
        assert plan.waiting() == ["b-large", "vain"]
        assert plan.places("b-small") == ["n"]

    def test_who_is_spared_keeps_its_room(self) -> None:
        cluster = (
            Cluster()
            .nodes("m n", cpu=4)
            .running("b-keep", on=["m"] * 4, cpu=1, template={"project": "b"}, started=-900)
            .running("b-small", on=["n"], cpu=1, template={"project": "b"}, started=-50)
            .running("b-large", on=["n"], cpu=3, template={"project": "b"}, started=-500)
            .job("new", cpu=3, template={"project": "a"}, submitted=-9)
            .job("next", cpu=1, priority="low", template={"project": "a"})
        )
        plan = cluster.plan(self.rules())
        assert plan.places("new") == ["n"]
        assert plan.evicts(by="new") == ["b-large"]

    def test_what_is_evicted_is_no_longer_held(self) -> None:
        cluster = (
            Cluster()
            .node("m", cpu=4, labels={"disk": "ssd"})
            .node("n", cpu=4)
            .running("b", on=["m"] * 4, cpu=1, priority="low", template={"project": "b"})
            .job("new", cpu=4, priority="high", selector={"disk": "ssd"}, template={"project": "a"})
            .job("b-next", cpu=4, priority="low", template={"project": "b"})
        )
        plan = cluster.plan(self.rules())
        assert plan.evicts(by="new") == ["b"]
        assert plan.places("b-next") == ["n"]

    @pytest.mark.parametrize(
        ("held", "priority", "cause"),
        [
            (4, "low", EvictionCause.PREEMPTED),
            (6, "low", EvictionCause.PREEMPTED),
            (6, "high", EvictionCause.RECLAIMED),
        ],
    )
    def test_the_cause_is_the_class_or_the_loan(self, held: int, priority: str, cause: EvictionCause) -> None:
        cluster = Cluster().node("n", cpu=held)
        cluster = cluster.running(
            "b", on=["n"] * held, cpu=1, priority=priority, template={"project": "b"}, min_available=1
        )
        plan = cluster.job("new", cpu=1, priority="medium", template={"project": "a"}).plan(self.rules())
        assert [one.cause for one in plan.plan.evictions] == [cause]
