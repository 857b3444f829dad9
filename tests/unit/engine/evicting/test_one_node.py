"""Whom to evict on one node, as kube-scheduler chooses: who is spared, and which node loses least."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from rota.engine.plugin import Plugins
from rota.plugins import FILTERS, SCORES
from rota.snapshot.running import RunningTask
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.words import apart

pytestmark = pytest.mark.covers("kube-3", "prio-3")


class Budget:
    """Allows so many of the named jobs to end."""

    def __init__(self, jobs: Iterable[str], allowed: int = 0) -> None:
        self._jobs = set(jobs)
        self._allowed = allowed

    def broken_by(self, tasks: Sequence[RunningTask]) -> list[bool]:
        taken: Counter[bool] = Counter()
        broken = []
        for task in tasks:
            taken[task.job.id in self._jobs] += 1
            broken.append(task.job.id in self._jobs and taken[True] > self._allowed)
        return broken


def evicted(cluster: Cluster, budget: Budget | None = None) -> list[str]:
    """For `new`, with kube-scheduler's rules."""
    plugins = Plugins(FILTERS, SCORES, evicts_elsewhere=False, disruptions=budget)
    return cluster.plan(plugins=plugins).evicts(by="new")


def crowd(**started: float) -> Cluster:
    """One node of 4 CPUs, with a job of one CPU each, started so many seconds ago."""
    cluster = Cluster().nodes("a", cpu=4)
    for name, ago_s in started.items():
        cluster = cluster.running(name, on=["a"], cpu=1, started=-ago_s, priority="low")
    return cluster


def test_those_that_ran_for_the_shortest_time_go() -> None:
    cluster = crowd(oldest=400, older=300, newer=200, newest=100)
    assert evicted(cluster.job("new", cpu=2, priority="critical")) == ["newer", "newest"]


def test_the_lowest_class_goes_before_the_newest() -> None:
    cluster = crowd(old=400, new_one=100).running("batch", on=["a"], cpu=2, started=-500, priority="batch")
    assert evicted(cluster.job("new", cpu=2, priority="critical")) == ["batch"]


def test_the_node_whose_victims_have_the_lowest_class_is_taken_even_if_they_are_more() -> None:
    cluster = (
        Cluster()
        .nodes("a b", cpu=4)
        .running("one", on=["a"], cpu=4, priority="low")
        .running("two", on=["b"], cpu=2, priority="batch")
        .running("three", on=["b"], cpu=2, priority="batch")
    )
    assert evicted(cluster.job("new", cpu=4, priority="critical")) == ["three", "two"]


def test_of_nodes_with_the_same_class_the_one_with_fewer_victims_then_the_later_start() -> None:
    cluster = (
        Cluster()
        .nodes("a b c", cpu=4)
        .running("a1", on=["a"], cpu=2, priority="low")
        .running("a2", on=["a"], cpu=2, priority="low")
        .running("b1", on=["b"], cpu=4, started=-900, priority="low")
        .running("c1", on=["c"], cpu=4, started=-800, priority="low")
    )
    assert evicted(cluster.job("new", cpu=4, priority="critical")) == ["c1"]


def test_a_node_that_is_overbooked_in_what_the_task_does_not_ask_for_is_no_worse() -> None:
    cluster = (
        Cluster()
        .nodes("a", cpu=4, memory="1Gi")
        .running("greedy", on=["a"], cpu=1, memory="4Gi", started=-900, priority="low")
        .running("new_one", on=["a"], cpu=3, started=-10, priority="low")
    )
    assert evicted(cluster.job("new", cpu=2, priority="critical")) == ["new_one"]


class TestBudgets:
    def test_who_breaks_one_is_spared_before_all_others(self) -> None:
        cluster = crowd(older=400, old=300, held=200).job("new", cpu=2, priority="critical")
        assert evicted(cluster) == ["held"]
        assert evicted(cluster, Budget({"held"})) == ["old"]

    def test_who_finds_no_other_way_breaks_one(self) -> None:
        cluster = crowd(held=400).job("new", cpu=4, priority="critical")
        assert evicted(cluster, Budget({"held"})) == ["held"]

    def test_what_it_allows_is_taken_by_the_most_valuable(self) -> None:
        cluster = crowd(oldest=400, older=300, newer=200, newest=100).job("new", cpu=1, priority="critical")
        assert evicted(cluster) == ["newest"]
        # The newest two would break it: they stay, and the second oldest goes.
        assert evicted(cluster, Budget({"oldest", "older", "newer", "newest"}, 2)) == ["older"]

    def test_a_node_where_none_is_broken_is_taken_even_for_a_higher_class(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b", cpu=4)
            .running("held", on=["a"], cpu=4, priority="batch")
            .running("free", on=["b"], cpu=4, priority="medium")
            .job("new", cpu=4, priority="critical")
        )
        assert evicted(cluster, Budget({"held"})) == ["free"]

    def test_gangs_that_preempt_spare_those_that_are_held(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b c", cpu=4)
            .running("held", on=["a"], cpu=4, priority="batch")
            .running("x", on=["b"], cpu=4, priority="low")
            .running("y", on=["c"], cpu=4, priority="low")
            .job("new", tasks=2, cpu=4, priority="critical")
        )
        assert evicted(cluster, Budget({"held"})) == ["x", "y"]
        assert evicted(cluster, Budget({"held", "x", "y"})), "there is no other way"

    def test_by_trial_too(self) -> None:
        cluster = crowd(older=400, held=300)
        cluster = cluster.running("enemy", on=["a"], cpu=1, labels={"app": "y"}, priority="low", started=-500)
        cluster = cluster.job("new", cpu=2, priority="critical", affinity=[apart("host", "app In y")])
        assert evicted(cluster, Budget({"held"})) == ["enemy"]
        cluster = cluster.running("last", on=["a"], cpu=1, priority="low", started=-450)
        assert evicted(cluster, Budget({"held"})) == ["enemy", "older"]


def test_a_gang_goes_as_a_whole_if_it_loses_less() -> None:
    cluster = (
        Cluster()
        .nodes("a b", cpu=4)
        .running("gang", on=["a", "a"], cpu=2, priority="batch")
        .running("single", on=["b"], cpu=4, priority="high")
        .job("new", cpu=4, priority="critical")
    )
    assert evicted(cluster) == ["gang"]


@pytest.mark.parametrize("seed", sampled(range(40), quick=8))
def test_amounts_and_trials_choose_the_same(seed: int) -> None:
    """A rule about others that nobody is concerned by makes it try instead of count."""
    chance = random.Random(seed)
    cluster = Cluster()
    for name in "abc":
        cluster = cluster.node(name, cpu=8)
        for number in range(chance.randint(1, 6)):
            cluster = cluster.running(
                f"{name}{number}",
                on=[name],
                cpu=chance.randint(1, 3),
                started=-float(chance.randint(1, 10**6)),
                priority=chance.choice(("batch", "low", "medium")),
            )
    held = Budget({f"{name}{number}" for name in "abc" for number in range(6) if chance.random() < 0.3}, 1)
    cpu = chance.randint(2, 8)
    counted = evicted(cluster.job("new", cpu=cpu, priority="critical"), held)
    rule = [apart("host", "app In nobody")]
    tried = evicted(cluster.job("new", cpu=cpu, priority="critical", affinity=rule), held)
    assert counted == tried
