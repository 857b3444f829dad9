"""Whom to evict: units that go together, the smallest set, then the cheapest, and who is spared."""

import random
from typing import Any

import pytest

from rota.engine.plugin import Plugins
from rota.plugins import FILTERS, SCORES
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.unit.engine.workbench import Scene
from tests.words import apart, lie, near, spread, tasks


def evicted(cluster: Cluster, *spared: str) -> list[str] | None:
    found = Scene(cluster).preempt("new", *spared)
    return None if found is None else found[1]


@pytest.mark.covers("prio-3")
class TestSmallestSet:
    def test_one_large_victim_rather_than_two_small_ones(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b", cpu=4)
            .running("s1", on=["a"], cpu=2)
            .running("s2", on=["a"], cpu=2)
            .running("large", on=["b"], cpu=4)
        )
        assert evicted(cluster.job("new", cpu=4)) == ["large/0"]

    def test_on_one_node_the_one_that_makes_enough_room(self) -> None:
        cluster = Cluster().node("a", cpu=6).running("s1", on=["a"], cpu=1).running("s2", on=["a"], cpu=2)
        cluster = cluster.running("s3", on=["a"], cpu=3)
        assert evicted(cluster.job("new", cpu=3)) == ["s3/0"]

    def test_one_that_makes_room_in_all_that_lacks_rather_than_two_that_make_more_of_some(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=10, memory="7Gi")
            .running("x1", on=["a"], cpu=3, memory="2Gi")
            .running("x2", on=["a"], cpu=3, memory="1Gi", priority="batch")
            .running("y", on=["a"], cpu=1, memory="3Gi")
        )
        assert evicted(cluster.job("new", cpu=4, memory="4Gi")) == ["y/0"]

    def test_free_room_is_used_before_anybody_goes(self) -> None:
        cluster = (
            Cluster().nodes("a b c", cpu=2).running("r1", on=["a"], cpu=2).running("r2", on=["b"], cpu=2)
        )
        found = Scene(cluster.job("new", cpu=2, tasks=2)).preempt()
        assert found is not None
        assert len(found[1]) == 1
        assert "c" in found[0]

    def test_a_gang_that_lies_on_one_node_counts_once(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b", cpu=4)
            .running("gang", on=["a", "a"], cpu=2)
            .running("s1", on=["b"], cpu=2)
            .running("s2", on=["b"], cpu=1)
            .running("s3", on=["b"], cpu=1)
        )
        assert evicted(cluster.job("new", cpu=4)) == ["gang/0", "gang/1"]

    def test_a_whole_gang_weighs_as_much_as_all_its_tasks(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b c", cpu=4)
            .running("gang", on=["a", "c"], cpu=4)
            .running("one", on=["b"], cpu=4)
        )
        assert evicted(cluster.job("new", cpu=4)) == ["one/0"]

    def test_what_a_gang_can_spare_goes_before_a_whole_one(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b c d", cpu=4)
            .running("stiff", on=["a", "b"], cpu=4)
            .running("elastic", on=["c", "d"], cpu=4, min_available=1)
        )
        assert evicted(cluster.job("new", cpu=4)) == ["elastic/1"]

    def test_for_a_gang_the_cheapest_nodes_of_all(self) -> None:
        cluster = Cluster()
        for node, sizes in [("a", [4]), ("b", [2, 2]), ("c", [4]), ("d", [1, 1, 2])]:
            cluster = cluster.node(node, cpu=4)
            for number, cpu in enumerate(sizes):
                cluster = cluster.running(f"{node}{number}", on=[node], cpu=cpu)
        assert evicted(cluster.job("new", cpu=4, tasks=2)) == ["a0/0", "c0/0"]
        assert evicted(cluster.job("new", cpu=4, tasks=3)) == ["a0/0", "b0/0", "b1/0", "c0/0"]


@pytest.mark.covers("prio-3")
@pytest.mark.parametrize("seed", sampled(range(30), quick=5))
def test_where_one_victim_is_enough_the_cheapest_such_goes(seed: int) -> None:
    chance = random.Random(seed)
    cluster = Cluster().nodes("a b c", cpu=6, memory="6Gi")
    free = {node: [6, 6] for node in "abc"}
    held: dict[str, tuple[str, int, int, str]] = {}
    for number in range(9):
        node, cpu, memory = chance.choice("abc"), chance.randrange(1, 4), chance.randrange(4)
        if cpu <= free[node][0] and memory <= free[node][1]:
            free[node][0] -= cpu
            free[node][1] -= memory
            name, priority = f"r{number}", chance.choice(["low", "batch"])
            held[name] = (node, cpu, memory, priority)
            cluster = cluster.running(name, on=[node], cpu=cpu, memory=f"{memory}Gi", priority=priority)
    need = (chance.randrange(2, 6), chance.randrange(2, 6))
    enough = [
        name
        for name, (node, cpu, memory, _) in held.items()
        if free[node][0] + cpu >= need[0] and free[node][1] + memory >= need[1]
    ]
    found = evicted(cluster.job("new", cpu=need[0], memory=f"{need[1]}Gi"))
    if enough and not any(left[0] >= need[0] and left[1] >= need[1] for left in free.values()):
        assert found is not None
        [victim] = [name.removesuffix("/0") for name in found]
        assert victim in enough
        assert held[victim][3] == min(held[name][3] for name in enough)


@pytest.mark.covers("prio-3")
class TestCheapest:
    NODES = Cluster().nodes("a b", cpu=2)

    def test_the_lowest_class(self) -> None:
        cluster = self.NODES.running("x", on=["a"], cpu=2, priority="low")
        cluster = cluster.running("y", on=["b"], cpu=2, priority="batch")
        assert evicted(cluster.job("new", cpu=2)) == ["y/0"]

    def test_then_who_loses_the_least_work(self) -> None:
        cluster = self.NODES.running("x", on=["a"], cpu=2, started=-500)
        cluster = cluster.running("y", on=["b"], cpu=2, started=-100)
        assert evicted(cluster.job("new", cpu=2)) == ["y/0"]

    def test_class_counts_before_work(self) -> None:
        cluster = self.NODES.running("x", on=["a"], cpu=2, started=-500, priority="batch")
        cluster = cluster.running("y", on=["b"], cpu=2, started=-100, priority="low")
        assert evicted(cluster.job("new", cpu=2)) == ["x/0"]

    def test_number_counts_before_class(self) -> None:
        cluster = self.NODES.running("x1", on=["a"], cpu=1, priority="batch")
        cluster = cluster.running("x2", on=["a"], cpu=1, priority="batch")
        cluster = cluster.running("y", on=["b"], cpu=2, priority="low")
        assert evicted(cluster.job("new", cpu=2)) == ["y/0"]

    def test_on_one_node_too(self) -> None:
        cluster = Cluster().node("a", cpu=4)
        for name, priority, started in [
            ("u", "low", -9),
            ("v", "batch", -9),
            ("w", "batch", -5),
            ("x", "low", -1),
        ]:
            cluster = cluster.running(name, on=["a"], cpu=1, priority=priority, started=started)
        assert evicted(cluster.job("new", cpu=1)) == ["w/0"]
        assert evicted(cluster.job("new", cpu=2)) == ["v/0", "w/0"]
        assert evicted(cluster.job("new", cpu=3)) == ["v/0", "w/0", "x/0"]

    def test_who_makes_room_enough_is_as_good_as_who_makes_more(self) -> None:
        cluster = Cluster().node("a", cpu=4).running("small", on=["a"], cpu=1, priority="batch")
        cluster = cluster.running("large", on=["a"], cpu=2, priority="low")
        assert evicted(cluster.job("new", cpu=2)) == ["small/0"]

    def test_equals_go_by_the_order_of_their_jobs(self) -> None:
        cluster = Cluster().node("a", cpu=2).running("y", on=["a"], cpu=1).running("x", on=["a"], cpu=1)
        assert evicted(cluster.job("new", cpu=1)) == ["x/0"]


@pytest.mark.covers("prio-3")
class TestSpared:
    def test_who_fits_beside_the_job_after_all(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=4, memory="8Gi")
            .running("lean", on=["a"], cpu=3, memory="1Gi")
            .running("fat", on=["a"], cpu=1, memory="7Gi")
        )
        assert evicted(cluster.job("new", cpu=1, memory="5Gi")) == ["fat/0"]

    def test_the_most_valuable_of_them(self) -> None:
        cluster = Cluster().node("a", cpu=5)
        cluster = cluster.running("x", on=["a"], cpu=2, priority="batch")
        cluster = cluster.running("y", on=["a"], cpu=3, priority="low")
        found = Scene(cluster.job("new", cpu=2)).preempt()
        assert found == (["a"], ["x/0"])

    def test_the_board_is_as_if_they_had_never_gone(self) -> None:
        cluster = Cluster().node("a", cpu=4, memory="8Gi")
        cluster = cluster.running("lean", on=["a"], cpu=3, memory="1Gi")
        cluster = cluster.running("fat", on=["a"], cpu=1, memory="7Gi").job("new", cpu=1, memory="5Gi")
        scene, expected = Scene(cluster), Scene(cluster)
        assert scene.preempt() is not None
        [fat] = [n for n, name in enumerate(expected.task_names(range(2))) if name == "fat/0"]
        expected.victims.lift([fat])
        expected.put("new", "a")
        assert scene.board.free.tolist() == expected.board.free.tolist()
        assert scene.board.shares.tolist() == expected.board.shares.tolist()


@pytest.mark.covers("prio-3")
class TestNobody:
    @pytest.mark.parametrize(
        "words",
        [
            {"cpu": 5},
            {"cpu": 3, "tasks": 3},
            {"gpu": 1},
            {"cpu": 1, "selector": {"disk": "ssd"}},
            {"cpu": 4, "tasks": 2, "topology": [lie("host", "same")]},
            {"affinity": [near("host", "app In none")]},
        ],
    )
    def test_goes_for_a_job_that_would_not_fit_anyway(self, words: dict[str, Any]) -> None:
        cluster = Cluster().nodes("a b", cpu=4).running("r1", on=["a"], cpu=4).running("r2", on=["b"], cpu=4)
        scene = Scene(cluster.job("new", **words))
        scene.work("new")
        before = scene.state()
        assert scene.preempt() is None
        assert scene.state() == before

    def test_goes_who_is_not_eligible(self) -> None:
        cluster = Cluster().node("a", cpu=4).running("r1", on=["a"], cpu=2).running("r2", on=["a"], cpu=2)
        assert evicted(cluster.job("new", cpu=2), "r1") == ["r2/0"]
        assert evicted(cluster.job("new", cpu=3), "r1") is None
        assert evicted(cluster.job("new", cpu=2), "r1", "r2") is None

    def test_goes_from_a_node_that_will_not_do(self) -> None:
        cluster = Cluster().node("a", cpu=2, taints=["x:NoSchedule"]).node("b", cpu=2)
        cluster = cluster.running("r1", on=["a"], cpu=2, priority="batch").running("r2", on=["b"], cpu=2)
        assert evicted(cluster.job("new", cpu=2)) == ["r2/0"]


@pytest.mark.covers("prio-3", "decide-4")
class TestRulesOverDomains:
    """What amounts don't tell is found by trying."""

    def test_who_keeps_the_job_away_goes(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b", cpu=9)
            .running("shy", on=["a"], affinity=[apart("host", "app In new")])
            .running("other", on=["a", "b"], min_available=1)
            .running("rival", on=["b"], labels={"app": "rival"})
        )
        job = cluster.job("new", labels={"app": "new"}, affinity=[apart("host", "app In rival")])
        found = Scene(job).preempt("new", "rival")
        assert found == (["a"], ["shy/0"])

    def test_only_the_task_goes_that_its_gang_can_spare(self) -> None:
        shy = [apart("host", "app In new")]
        cluster = Cluster().nodes("a b", cpu=9).running("shy", on=["a", "b"], affinity=shy, min_available=1)
        assert Scene(cluster.job("new", labels={"app": "new"})).preempt() == (["b"], ["shy/1"])

    def test_the_fewest_of_those_that_a_spread_is_uneven_by(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=9, zone="a")
            .node("b", cpu=1, zone="b")
            .running("web", on=["a", "a"], labels={"app": "web"}, min_available=1)
            .running("fill", on=["b"], cpu=1)
        )
        job = cluster.job("new", labels={"app": "web"}, spread=[spread("zone", "app In web")], cpu=1)
        assert evicted(job) == ["fill/0"]

    def test_a_domain_is_cleared_for_a_gang_that_must_be_together(self) -> None:
        cluster = (
            Cluster()
            .nodes("a1 a2", cpu=2, zone="a")
            .nodes("b1 b2", cpu=2, zone="b")
            .running("w", on=["a1"], cpu=2)
            .running("x", on=["b1"], cpu=2)
            .running("y", on=["b2"], cpu=2)
        )
        found = Scene(cluster.job("new", cpu=2, tasks=2, topology=[lie("zone", "same")])).preempt()
        assert found is not None
        assert (sorted(found[0]), found[1]) == (["a1", "a2"], ["w/0"])

    def test_groups_that_differ_each_get_their_room(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=4, gpus=1)
            .node("b", cpu=4)
            .running("g", on=["a"], gpu=1, devices=[[0]])
            .running("c", on=["b"], cpu=4)
            .running("d", on=["a"], cpu=4)
        )
        found = Scene(cluster.job("new", groups=[tasks(1, gpu=1), tasks(1, cpu=4)])).preempt()
        assert found is not None
        assert found[1] in (["c/0", "g/0"], ["d/0", "g/0"])


@pytest.mark.covers("prio-3", "decide-2")
class TestDevices:
    NODE = Cluster().node("a", cpu=9, gpus=2)

    def test_a_whole_device_is_cleared_rather_than_parts_of_two(self) -> None:
        cluster = (
            self.NODE.running("x", on=["a"], gpu=0.5, devices=[[0]])
            .running("y", on=["a"], gpu=0.5, devices=[[1]])
            .running("z", on=["a"], gpu=0.5, devices=[[1]])
        )
        assert evicted(cluster.job("new", gpu=1)) == ["x/0"]

    def test_what_is_free_on_several_devices_is_not_enough(self) -> None:
        cluster = self.NODE.running("x", on=["a"], gpu=0.3, devices=[[0]]).running(
            "y", on=["a"], gpu=0.4, devices=[[1]], started=-7200
        )
        scene = Scene(cluster.job("new", gpu=1))
        assert scene.preempt() == (["a"], ["x/0"])
        assert scene.board.gpu_free.tolist() == [[0, 600]]

    def test_a_part_needs_room_on_one_device(self) -> None:
        cluster = self.NODE.running("x", on=["a"], gpu=0.6, devices=[[0]], started=-7200)
        cluster = cluster.running("y", on=["a"], gpu=0.6, devices=[[1]])
        assert evicted(cluster.job("new", gpu=0.5)) == ["y/0"]

    def test_a_part_that_fits_beside_the_job_is_spared(self) -> None:
        cluster = self.NODE.running("x", on=["a"], gpu=0.2, devices=[[0]])
        cluster = cluster.running("y", on=["a"], gpu=0.9, devices=[[0]]).running(
            "z", on=["a"], gpu=1, devices=[[1]], priority=9
        )
        found = evicted(cluster.job("new", gpu=0.7))
        assert found == ["y/0"]

    def test_two_whole_devices(self) -> None:
        cluster = self.NODE.running("x", on=["a"], gpu=0.2, devices=[[0]])
        cluster = cluster.running("y", on=["a"], gpu=0.9, devices=[[1]])
        assert evicted(cluster.job("new", gpu=2)) == ["x/0", "y/0"]


@pytest.mark.covers("prio-3", "decide-12")
def test_a_node_is_cleared_for_a_job_that_wants_it_alone() -> None:
    cluster = (
        Cluster()
        .nodes("a b", cpu=4)
        .running("r1", on=["a"], cpu=1)
        .running("r2", on=["a"], cpu=1)
        .running("r3", on=["b"], cpu=1)
    )
    assert evicted(cluster.job("new", spec={"exclusive": True})) == ["r3/0"]


@pytest.mark.covers("kube-3")
class TestOnOneNode:
    """As kube-scheduler does: all who go for a single task are where it goes."""

    HERE = Plugins(FILTERS, SCORES, evicts_elsewhere=False)

    def family(self) -> Cluster:
        """The new one must be near to others like itself, or be the first of them: on `b` it has room."""
        like_itself = [near("zone", "app In x")]
        return (
            Cluster()
            .node("a", cpu=2, zone="1")
            .node("b", cpu=4, zone="2")
            .running("r", on=["a"], cpu=1, labels={"app": "x"}, priority="batch")
            .job("new", cpu=3, priority="critical", labels={"app": "x"}, affinity=like_itself)
        )

    def test_nobody_goes_elsewhere(self) -> None:
        assert self.family().plan().evicts() == ["r"]
        assert self.family().plan(plugins=self.HERE).evicts() == []

    def test_who_is_in_the_way_there_goes(self) -> None:
        cluster = (
            Cluster()
            .nodes("a b", cpu=4)
            .running("two", on=["a", "a"], cpu=1, labels={"app": "y"}, priority="batch")
            .running("one", on=["b"], cpu=1, labels={"app": "y"}, priority="batch")
            .job("new", cpu=1, priority="critical", affinity=[apart("host", "app In y")])
        )
        planned = cluster.plan(plugins=self.HERE)
        assert planned.evicts() == ["one"]
        assert planned.places("new") == ["b"]
