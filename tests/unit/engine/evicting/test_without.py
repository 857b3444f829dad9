"""What would still be in the way of a task without those who may have to go for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.engine.plugin import Plugins
from rota.model.reasons import Insufficient, JobAntiAffinityUnmet, NobodyToEvict, RunningAntiAffinity
from rota.model.verdict import Reason
from rota.plugins import FILTERS, SCORES
from tests.builders import Cluster
from tests.words import apart

pytestmark = pytest.mark.covers("kube-7")

RULES = Plugins(
    FILTERS,
    SCORES,
    evicts_elsewhere=False,
    asked_without_victims=(Insufficient, JobAntiAffinityUnmet),
)


def still(cluster: Cluster, rules: Plugins = RULES) -> dict[type[Reason], int]:
    """Of `new`, by how many nodes."""
    [waiting] = [one for one in cluster.plan(plugins=rules).plan.waiting if "new" in one.jobs]
    return {type(one.reason): one.nodes for one in waiting.still}


def full(name: str, priority: str) -> Cluster:
    return Cluster().nodes("a b c", cpu=4).running(name, on=["a", "b", "c"], cpu=4, priority=priority)


def test_nobody_is_there_who_may_have_to_go() -> None:
    assert still(full("r", "high").job("new", cpu=4, priority="high")) == {NobodyToEvict: 3}
    assert still(full("r", "high").job("new", cpu=4, priority="batch")) == {NobodyToEvict: 3}


def test_too_little_room_without_them() -> None:
    cluster = (
        Cluster()
        .nodes("a b", cpu=4)
        .running("stays", on=["a"], cpu=3, priority="critical")
        .running("may-go", on=["a"], cpu=1, priority="batch")
        .running("alone", on=["b"], cpu=4, priority="critical")
        .job("new", cpu=4, priority="high")
    )
    assert still(cluster) == {Insufficient: 1, NobodyToEvict: 1}


def test_each_node_is_asked_as_if_only_its_own_tasks_were_gone() -> None:
    """The two that it must be apart from are in one zone: without one of them it still has the other."""
    cluster = (
        Cluster()
        .node("a", cpu=4, zone="1")
        .node("b", cpu=4, zone="1")
        .running("x", on=["a"], cpu=1, labels={"app": "y"}, priority="batch")
        .running("y", on=["b"], cpu=1, labels={"app": "y"}, priority="batch")
        .job("new", cpu=1, priority="high", affinity=[apart("zone", "app In y")])
    )
    assert still(cluster) == {JobAntiAffinityUnmet: 2}


def test_several_that_keep_it_away_are_one_reason() -> None:
    """Two that stay have rules against it, over different domains."""
    cluster = Cluster().node("a", cpu=4, zone="1").node("b", cpu=4, zone="2").node("c", cpu=4, zone="2")
    for name, node, key in (("x", "a", "host"), ("y", "b", "zone")):
        rule = [apart(key, "app In new")]
        cluster = cluster.running(name, on=[node], cpu=1, affinity=rule, priority="critical")
    for node in "abc":
        cluster = cluster.running(f"low-{node}", on=[node], cpu=1, priority="batch")
    rules = replace(RULES, asked_without_victims=(RunningAntiAffinity,))
    assert still(cluster.job("new", cpu=1, priority="high", labels={"app": "new"}), rules) == {
        RunningAntiAffinity: 3
    }


def test_it_is_only_asked_if_the_rules_say_so() -> None:
    cluster = full("r", "high").job("new", cpu=4, priority="high")
    assert still(cluster, Plugins(FILTERS, SCORES)) == {}


def test_who_evicts_others_is_told_why_it_had_to() -> None:
    planned = full("r", "batch").job("new", cpu=2, priority="high").plan(plugins=RULES)
    [waiting] = planned.plan.displacing
    assert waiting.jobs == ("new",)
    assert {type(one.reason): one.nodes for one in waiting.verdict.refusals} == {Insufficient: 3}
    assert not planned.plan.scored


def test_scores_are_told_of_as_many_as_the_rules_ask_for() -> None:
    cluster = Cluster().nodes("a b", cpu=4).job("one", cpu=1).job("two", cpu=2).job("gang", tasks=2, cpu=1)
    rules = Plugins(FILTERS, SCORES, jobs_scored=2)
    scored = cluster.plan(plugins=rules).plan.scored
    assert len(scored) == 2
    for one in scored:
        assert 0 <= one.total <= 100
        assert one.criteria
        assert all(0 <= value <= 100 for _, value in one.criteria)
    everybody = cluster.plan(plugins=Plugins(FILTERS, SCORES, jobs_scored=10)).plan.scored
    assert {one.job for one in everybody} == {"one", "two", "gang"}
