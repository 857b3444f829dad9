"""Nodes whose taints keep the task away."""

import pytest

from rota.model.taints import Effect, Taint, Toleration
from rota.plugins.taints import TaintFilter, UntoleratedPassingTaint, UntoleratedTaint
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("decide-5")

PRESSURE = "node.kubernetes.io/disk-pressure"
NODES = (
    Cluster()
    .node("clean")
    .node("drained", taints=["drain:NoExecute"])
    .node("gpu", taints=["gpu=yes:NoSchedule"])
    .node("soft", taints=["slow:PreferNoSchedule"])
    .node("two", taints=["gpu=yes:NoSchedule", "team=ml:NoSchedule"])
)


@pytest.mark.parametrize(
    ("tolerates", "passes"),
    [
        ([], ["clean", "soft"]),
        (["gpu"], ["clean", "gpu", "soft"]),
        (["gpu=yes"], ["clean", "gpu", "soft"]),
        (["gpu=no"], ["clean", "soft"]),
        (["gpu", "team=ml"], ["clean", "gpu", "soft", "two"]),
        (["drain:NoSchedule"], ["clean", "soft"]),
        (["drain:NoExecute"], ["clean", "drained", "soft"]),
        (["*"], ["clean", "drained", "gpu", "soft", "two"]),
    ],
)
def test_every_hard_taint_must_be_tolerated(tolerates: list[str], passes: list[str]) -> None:
    assert Judged(TaintFilter(), NODES, tolerates=tolerates).passes == passes


def test_the_reason_is_the_first_taint_that_is_not_tolerated() -> None:
    judged = Judged(TaintFilter(), NODES, tolerates=["gpu"])
    assert judged.reasons["two"] == [UntoleratedTaint("team", "ml", Effect.NO_SCHEDULE)]
    assert judged.reasons["drained"] == [UntoleratedTaint("drain", "", Effect.NO_EXECUTE)]


def test_a_taint_of_a_condition_passes_and_one_that_lasts_comes_first() -> None:
    nodes = (
        Cluster()
        .node("pressed", taints=[f"{PRESSURE}:NoSchedule"])
        .node("pressed-and-kept", taints=[f"{PRESSURE}:NoSchedule", "team=ml:NoSchedule"])
    )
    judged = Judged(TaintFilter(), nodes)
    assert judged.reasons == {
        "pressed": [UntoleratedPassingTaint(PRESSURE, "", Effect.NO_SCHEDULE)],
        "pressed-and-kept": [UntoleratedTaint("team", "ml", Effect.NO_SCHEDULE)],
    }


def test_a_cluster_without_taints_costs_nothing() -> None:
    assert Judged(TaintFilter(), Cluster().nodes("a b")).says_all


def test_a_taint_that_it_no_longer_bears_keeps_it_away() -> None:
    taint = Taint("broken", Effect.NO_EXECUTE, added_ms=NOW_MS - 60_000)
    for seconds, passes in ((30, False), (90, True)):
        bears = Toleration("broken", exists=True, effect=Effect.NO_EXECUTE, seconds=seconds)
        cluster = Cluster().node("n", cpu=1, taints=[taint]).job("j", cpu=1, tolerates=[bears])
        assert bool(cluster.plan().places("j")) is passes


@pytest.mark.covers("trust-1")
def test_very_many_taints_share_a_reason() -> None:
    cluster = Cluster()
    for name in ("common-1", "common-2"):
        cluster = cluster.node(name, taints=["common:NoSchedule"])
    for number in range(100):
        cluster = cluster.node(f"n{number:03}", taints=[f"k{number:03}:NoSchedule"])
    judged = Judged(TaintFilter(), cluster)
    assert judged.reasons["common-2"] == [UntoleratedTaint("common", "", Effect.NO_SCHEDULE)]
    assert judged.reasons["n000"] == [UntoleratedTaint("k000", "", Effect.NO_SCHEDULE)]
    assert judged.reasons["n099"] == [UntoleratedTaint("k061", "", Effect.NO_SCHEDULE, 38)]
    assert len({reason for reasons in judged.reasons.values() for reason in reasons}) == 63
