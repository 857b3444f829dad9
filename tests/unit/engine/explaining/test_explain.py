"""Why a job runs where it does: the scores of the chosen node and of the next best, and the refusals."""

import pytest

from rota.engine.explaining.explain import explain
from rota.model.explanation import Explanation, Outcome, RefusedNodes
from rota.model.ids import JobId
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy, Selection, Strategy
from rota.model.reasons import BeyondCapacity, Insufficient, WasPreempted
from rota.model.verdict import Kind, Reason
from rota.plugins.node_ready import NodeCordoned
from rota.plugins.taints import UntoleratedTaint
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.words import NOW_MS, apart, lie, near, tasks


def explained(cluster: Cluster, name: str = "j", rules: Policy | None = None) -> Explanation:
    rules = rules or Policy()
    return explain(snapshot_of(cluster.records, rules.defaults), rules, NOW_MS, PLUGINS, JobId(name))


@pytest.mark.covers("why-3")
class TestPlaced:
    CLUSTER = (
        Cluster()
        .nodes("a b c", cpu=8)
        .node("tainted", cpu=8, taints=["x:NoSchedule"])
        .running("r", on=["a", "b", "b"], cpu=1)
    )

    def test_the_chosen_node_comes_first_then_the_next_best(self) -> None:
        found = explained(self.CLUSTER.job("j", cpu=1))
        assert found.outcome is Outcome.PLACED
        assert found.nodes == ("c",)
        assert [one.node for one in found.scores] == ["c", "a", "b"]
        totals = [one.total for one in found.scores]
        assert totals == sorted(totals, reverse=True)

    @pytest.mark.covers("decide-7")
    def test_every_criterion_is_shown_with_its_weight(self) -> None:
        found = explained(self.CLUSTER.job("j", cpu=2))
        assert found.weights == (("utilisation", 40), ("load", 30), ("affinity", 20), ("proximity", 10))
        [best, *_] = found.scores
        assert dict(best.criteria) == {"utilisation": 75.0, "load": 99.1, "affinity": 0.0, "proximity": 0.0}
        assert best.total == pytest.approx(0.4 * 75 + 0.3 * 99.1, abs=0.1)

    @pytest.mark.parametrize("strategy", ["least-loaded", "bin-packing", "balanced", "round-robin"])
    def test_a_total_is_the_mean_of_its_criteria_by_weight(self, strategy: str) -> None:
        found = explained(self.CLUSTER.job("j", cpu=1), rules=policy(strategy))
        weights = dict(found.weights)
        for one in found.scores:
            assert {name for name, _ in one.criteria} == set(weights)
            mean = sum(weights[name] * value for name, value in one.criteria) / sum(weights.values())
            assert one.total == pytest.approx(mean, abs=0.1)

    def test_a_plugins_score_is_shown_under_its_name(self) -> None:
        rules = Policy((SchedulerPolicy(plugins=(PluginConfig("by-name", 25),)),))
        found = explained(self.CLUSTER.job("j", cpu=1), rules=rules)
        assert dict(found.weights)["by-name"] == 25
        assert all("by-name" in dict(one.criteria) for one in found.scores)

    @pytest.mark.covers("decide-6")
    def test_a_custom_selections_score_is_shown_as_utilisation(self) -> None:
        rules = Policy((SchedulerPolicy(selection=Selection(Strategy.CUSTOM, "by-name")),))
        found = explained(self.CLUSTER.job("j", cpu=1), rules=rules)
        shown = {one.node: dict(one.criteria)["utilisation"] for one in found.scores}
        assert shown == {"a": 97.0, "b": 98.0, "c": 99.0}
        assert "by-name" not in dict(found.weights)

    def test_nodes_that_refuse_are_named_with_their_reason(self) -> None:
        [refused] = explained(self.CLUSTER.job("j", cpu=1)).refusals
        assert isinstance(refused.reason, UntoleratedTaint)
        assert refused.nodes == ("tainted",)

    def test_at_most_four_runners_up_are_shown(self) -> None:
        found = explained(Cluster().nodes("a b c d e f g h", cpu=8).job("j", cpu=1))
        assert [one.node for one in found.scores] == ["a", "b", "c", "d", "e"]

    def test_scores_are_as_they_were_when_the_job_was_placed(self) -> None:
        cluster = Cluster().nodes("a b", cpu=8).job("before", cpu=4, submitted=-9).job("after", cpu=4)
        found = explained(cluster.job("j", cpu=1, submitted=-5))
        assert [one.node for one in found.scores] == ["b", "a"]
        assert [dict(one.criteria)["utilisation"] for one in found.scores] == [87.5, 37.5]

    def test_one_of_many_equal_jobs_goes_where_the_plan_puts_it(self) -> None:
        cluster = Cluster().node("a", cpu=60).node("b", cpu=40).node("c", cpu=90)
        for number in range(100):
            cluster = cluster.job(f"j{number:02}", cpu=1)
        planned = cluster.plan()
        for name in ("j00", "j41", "j99"):
            found = explained(cluster, name)
            assert list(found.nodes) == planned.places(name)
            assert found.scores[0].node == found.nodes[0]

    def test_a_preemptors_node_is_shown_too(self) -> None:
        cluster = Cluster().node("n", cpu=4).running("old", on=["n"], cpu=4, priority="low")
        found = explained(cluster.job("j", cpu=4, priority="high"))
        assert found.nodes == ("n",)
        assert [one.node for one in found.scores] == ["n"]

    def test_a_preemptors_refusals_are_those_of_before(self) -> None:
        cluster = Cluster().node("n", cpu=4).running("old", on=["n"], cpu=4, priority="low")
        found = explained(cluster.job("j", cpu=4, priority="high"))
        assert [(type(one.reason), one.nodes) for one in found.refusals] == [(Insufficient, ("n",))]

    def test_a_job_that_was_asked_again_has_the_refusals_of_the_last_time(self) -> None:
        cluster = Cluster().node("n", cpu=4).node("closed", cpu=4, cordoned=True)
        cluster = cluster.job("j", affinity=[near("host", "app In k")]).job("k", labels={"app": "k"})
        found = explained(cluster)
        assert found.nodes == ("n",)
        assert [one.nodes for one in found.refusals] == [("closed",)]

    def test_the_chosen_node_is_shown_even_if_many_were_better_alone(self) -> None:
        cluster = Cluster()
        for number in range(8):
            cluster = cluster.node(f"a{number}", cpu=16, labels={"zone": f"z{number}"})
        cluster = cluster.nodes("m n", cpu=4, zone="pair")
        cluster = cluster.running("r", on=["m", "n"], cpu=1)
        found = explained(
            cluster.job("j", cpu=1, tasks=2, topology=[lie("zone", "same"), lie("host", "different")])
        )
        assert found.nodes == ("m", "n")
        assert found.scores[0].node == "m"


class TestGangs:
    def test_nodes_are_told_by_rank(self) -> None:
        cluster = Cluster().node("big", cpu=8).node("small", cpu=2)
        found = explained(cluster.job("j", groups=[tasks(1, cpu=1), tasks(1, cpu=8)]))
        assert found.nodes == ("small", "big")

    def test_tasks_that_run_already_are_told_too(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).running("j", on=["b"], cpu=2, tasks=2, min_available=1)
        found = explained(cluster)
        assert found.outcome is Outcome.PLACED
        assert found.nodes == ("b", "a")


class TestOtherOutcomes:
    def test_a_job_all_of_which_runs(self) -> None:
        found = explained(Cluster().nodes("a b", cpu=2).running("j", on=["b", "a"]))
        assert found.outcome is Outcome.RUNNING
        assert found.nodes == ("b", "a")
        assert found.verdict is None

    @pytest.mark.covers("prio-2")
    def test_a_job_that_is_evicted(self) -> None:
        cluster = Cluster().node("n", cpu=2).running("j", on=["n"], cpu=2, priority="low")
        found = explained(cluster.job("new", cpu=2, priority="high"))
        assert found.outcome is Outcome.EVICTED
        assert found.verdict is not None
        assert found.verdict.refusals[0].reason == WasPreempted(JobId("new"))
        assert found.nodes == ()

    def test_a_job_that_loses_a_task_runs_on_with_the_rest(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2)
        cluster = cluster.running("j", on=["a", "b"], cpu=2, priority="low", min_available=1)
        found = explained(cluster.job("new", cpu=2, priority="high"))
        assert found.outcome is Outcome.EVICTED
        assert found.nodes == ("a",)

    def test_a_job_that_wants_more_and_loses_a_task_is_evicted(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2)
        cluster = cluster.running("j", on=["a", "b"], cpu=2, tasks=3, priority="low", min_available=1)
        assert explained(cluster.job("new", cpu=2, priority="high")).outcome is Outcome.EVICTED

    @pytest.mark.covers("why-1")
    def test_a_job_that_waits_has_the_reason_of_each_node(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).node("c", cpu=9, cordoned=True)
        found = explained(cluster.job("j", cpu=4))
        assert found.outcome is Outcome.WAITING
        assert found.verdict is not None
        assert found.verdict.kind is Kind.NOT_NOW
        by_kind: dict[type[Reason], tuple[str, ...]] = {type(one.reason): one.nodes for one in found.refusals}
        assert by_kind == {BeyondCapacity: ("a", "b"), NodeCordoned: ("c",)}
        assert sum(one.nodes for one in found.verdict.refusals) == sum(
            len(one.nodes) for one in found.refusals
        )

    def test_a_job_of_which_some_tasks_run_and_some_wait(self) -> None:
        found = explained(Cluster().node("a", cpu=2).running("j", on=["a"], cpu=2, tasks=2, min_available=1))
        assert found.outcome is Outcome.WAITING
        assert found.nodes == ("a",)

    def test_a_job_that_waits_behind_equals_has_their_verdict(self) -> None:
        cluster = Cluster().node("a", cpu=2).job("first", cpu=4, submitted=-2).job("j", cpu=4)
        assert explained(cluster).verdict == explained(cluster, "first").verdict

    @pytest.mark.covers("decide-10")
    def test_faults_of_plugins_are_told(self) -> None:
        rules = Policy((SchedulerPolicy(plugins=(PluginConfig("missing"),)),))
        [fault] = explained(Cluster().node("a", cpu=2).job("j", cpu=1), rules=rules).faults
        assert fault.plugin == "missing"


def test_explaining_changes_nothing() -> None:
    cluster = (
        Cluster()
        .nodes("a b", cpu=4)
        .running("r", on=["a"], cpu=3, labels={"app": "r"})
        .job("j", cpu=4, labels={"app": "j"}, affinity=[apart("host", "app In r")])
        .job("k", cpu=9, tolerates=["x"])
    )
    snapshot = snapshot_of(cluster.records)
    before = snapshot.free.copy()
    first = explain(snapshot, Policy(), NOW_MS, PLUGINS, JobId("k"))
    assert (snapshot.free == before).all()
    assert explain(snapshot, Policy(), NOW_MS, PLUGINS, JobId("k")) == first


def test_refused_nodes_are_those_of_the_first_task() -> None:
    cluster = Cluster().node("a", cpu=1).node("b", cpu=8)
    found = explained(cluster.job("j", groups=[tasks(1, cpu=8), tasks(1, cpu=1)]))
    assert isinstance(found.refusals[0], RefusedNodes)
    assert [one.nodes for one in found.refusals] == [("a",)]


class _SpentAfter:
    """A budget for so many changes that are tried."""

    def __init__(self, count: int) -> None:
        self._left = count

    @property
    def is_spent(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.mark.covers("trust-1")
@pytest.mark.parametrize("tried", [0, 1, 5, 20])
def test_when_time_is_up_what_is_known_by_then_is_the_answer(tried: int) -> None:
    cluster = Cluster().nodes("a b", cpu=4, taints=["x:NoSchedule"]).job("j", cpu=8, selector={"disk": "ssd"})
    snapshot = snapshot_of(cluster.records)
    whole = explain(snapshot, Policy(), NOW_MS, PLUGINS, JobId("j"))
    found = explain(snapshot, Policy(), NOW_MS, PLUGINS, JobId("j"), _SpentAfter(tried))
    assert not whole.is_cut_short
    assert found.verdict == whole.verdict
    assert found.refusals == whole.refusals
    assert set(found.remedies) <= set(whole.remedies)
    assert found.is_cut_short or found == whole
    assert found.is_cut_short or tried > 0
