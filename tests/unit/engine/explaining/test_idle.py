"""How many tasks of a gang could start together if nothing else ran and every node were back."""

from typing import Any

import pytest

from rota.engine.explaining.idle import IdleCluster
from rota.engine.scope import Turn
from rota.model.ids import JobId
from rota.model.policy import Policy, QueuePolicy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster
from tests.words import NOW_MS, apart, lie, near, spread, tasks

pytestmark = pytest.mark.covers("why-1")

PRESSURE = "node.kubernetes.io/memory-pressure:NoSchedule"


def room(cluster: Cluster, queue: QueuePolicy | None = None, **words: Any) -> int:
    snapshot = snapshot_of(cluster.job("j", **words).records)
    policy = Policy()
    [lane] = [lane for lane in snapshot.waiting.lanes() if any(job.id == "j" for job in lane.view()[0])]
    scheduler = policy.schedulers[0]
    idle = IdleCluster(snapshot, policy, NOW_MS, PLUGINS)
    job, turn = snapshot.jobs[JobId("j")].job, Turn(scheduler, queue or scheduler.queues[0])
    found = idle.room_for(turn, lane.key, job)
    assert found == idle.room_for(turn, lane.key, job), "asking must leave no trace"
    return found


NODES = Cluster().nodes("a1 a2", cpu=2, zone="a").nodes("b1 b2 b3", cpu=2, zone="b")


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ({"cpu": 1, "tasks": 3}, 3),
        ({"cpu": 1, "tasks": 99}, 10),
        ({"cpu": 2, "tasks": 99}, 5),
        ({"cpu": 3, "tasks": 99}, 0),
        ({"cpu": 1, "tasks": 99, "topology": [lie("zone", "same")]}, 6),
        ({"cpu": 1, "tasks": 99, "topology": [lie("host", "different")]}, 5),
        ({"cpu": 1, "tasks": 99, "labels": {"x": "y"}, "affinity": [apart("zone", "x In y")]}, 2),
        ({"groups": [tasks(9, cpu=2), tasks(9, cpu=1)]}, 5),
    ],
)
def test_as_many_as_find_room(words: dict[str, Any], most: int) -> None:
    assert room(NODES, **words) == most


def test_what_runs_does_not_count() -> None:
    busy = NODES.running("r", on=["a1", "a2", "b1", "b2", "b3"], cpu=2, labels={"app": "r"})
    assert room(busy, cpu=1, tasks=99) == 10
    assert room(busy, cpu=1, tasks=99, affinity=[apart("zone", "app In r")]) == 10


def test_nodes_that_are_down_and_conditions_that_pass_do_not_count() -> None:
    cluster = (
        Cluster()
        .node("down", cpu=2, ready=False)
        .node("closed", cpu=2, cordoned=True)
        .node("pressed", cpu=2, taints=[PRESSURE])
    )
    assert room(cluster, cpu=1, tasks=99) == 6


def test_a_condition_passes_whatever_its_value() -> None:
    cluster = Cluster().node("n", cpu=2, taints=["node.kubernetes.io/not-ready=since-noon:NoExecute"])
    assert room(cluster, cpu=1, tasks=2) == 2


@pytest.mark.covers("decide-13")
def test_the_pools_of_the_queue_count() -> None:
    cluster = Cluster().node("m", cpu=2, pool="p").node("n", cpu=2, pool="q")
    assert room(cluster, QueuePolicy(pools=("q",)), cpu=1, tasks=9) == 2


@pytest.mark.parametrize(
    "words",
    [
        {"affinity": [near("rack", "app In db")]},
        {"labels": {"x": "y"}, "spread": [spread("rack", "x In y")]},
    ],
)
def test_nodes_without_the_label_will_never_do_whatever_company_comes(words: dict[str, Any]) -> None:
    assert room(NODES, cpu=1, tasks=9, **words) == 0
    assert room(NODES.node("r", cpu=2, labels={"rack": "1"}), cpu=1, tasks=9, **words) == 2


def test_what_lasts_counts() -> None:
    cluster = Cluster().node("tainted", cpu=2, taints=["x:NoSchedule", PRESSURE]).node("ssd", cpu=2)
    assert room(cluster, cpu=1, tasks=99) == 2
    assert room(cluster, cpu=1, tasks=99, selector={"disk": "ssd"}) == 0


def test_company_that_may_yet_come_does_not_count() -> None:
    assert room(NODES, cpu=1, tasks=3, affinity=[near("zone", "app In db")]) == 3
    assert room(NODES, cpu=1, tasks=9, labels={"x": "y"}, spread=[spread("zone", "x In y")]) == 9


def test_company_of_its_own_counts() -> None:
    words: dict[str, Any] = {"labels": {"x": "y"}, "affinity": [near("zone", "x In y")]}
    assert room(NODES, cpu=1, tasks=6, **words) == 6
    assert room(NODES, cpu=1, tasks=7, **words) < 7
