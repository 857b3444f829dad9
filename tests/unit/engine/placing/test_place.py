"""Where the tasks of a job go: one, many at once, gangs, and how they lie to each other."""

import random
from typing import Any, ClassVar

import pytest

from rota.engine.placing.place import place, place_equal
from rota.model.policy import Weights
from tests.builders import Cluster, policy
from tests.unit.engine.workbench import Workbench, mask
from tests.words import apart, lie, near, spread, tasks


def placed(cluster: Cluster, name: str = "j") -> list[str] | None:
    """The nodes of the job's tasks, group by group in the order in which they were placed."""
    bench = Workbench(cluster)
    seats = place(bench.work(name), bench.board)
    return None if seats is None else bench.names(seat.position for seat in seats)


def one_by_one(bench: Workbench, name: str, count: int) -> list[str]:
    found = []
    for _ in range(count):
        node = bench.best(name)
        if node is None:
            break
        bench.put(name, node)
        found.append(node)
    return found


class TestManyAtOnce:
    @staticmethod
    def cluster(seed: int) -> Cluster:
        chance = random.Random(seed)
        made = Cluster()
        for number in range(9):
            made = made.node(
                f"n{number}",
                cpu=chance.choice([4, 9, 30]),
                memory=f"{chance.choice([5, 17, 60])}Gi",
                gpus=chance.choice([0, 4]),
                price=chance.choice([0, 1]),
                zone=chance.choice("ab"),
                taints=chance.choice([[], [], ["soft:PreferNoSchedule"]]),
            )
        return made.offer("o", limit=3, cpu=12, memory="20Gi", gpus=1, price=2)

    @pytest.mark.covers("decide-1", "decide-6")
    @pytest.mark.parametrize("strategy", ["least-loaded", "bin-packing", "balanced", "round-robin"])
    @pytest.mark.parametrize(
        "words",
        [
            {"cpu": 1},
            {"cpu": 0.7, "memory": "2Gi"},
            {"cpu": 0.1, "gpu": 0.3},
            {"memory": "1Gi", "prefers": "zone In a"},
        ],
        ids=["one resource", "two resources", "parts of GPUs", "with a wish"],
    )
    @pytest.mark.parametrize("seed", range(2))
    def test_the_order_is_that_of_one_by_one(self, strategy: str, words: dict[str, Any], seed: int) -> None:
        cluster, rules = self.cluster(seed).job("j", tasks=150, **words), policy(strategy)
        at_once, slowly = Workbench(cluster, rules), Workbench(cluster, rules)
        found = place_equal(at_once.signature("j"), at_once.board, 150)
        assert at_once.names(found) == one_by_one(slowly, "j", 150)
        assert at_once.state() == slowly.state()
        assert at_once.board.devices_since(0) == slowly.board.devices_since(0)

    def test_it_stops_where_nothing_more_fits(self) -> None:
        bench = Workbench(Cluster().nodes("a b", cpu=40).job("j", cpu=1, tasks=100))
        assert len(place_equal(bench.signature("j"), bench.board, 100)) == 80
        assert place_equal(bench.signature("j"), bench.board, 100) == []

    def test_it_stays_within_the_mask(self) -> None:
        bench = Workbench(Cluster().nodes("a b c", cpu=40).job("j", cpu=1, tasks=100))
        found = place_equal(bench.signature("j"), bench.board, 100, mask(bench, "b", "c"))
        assert sorted(bench.names(found)) == ["b"] * 40 + ["c"] * 40

    def test_weights_that_rise_with_the_load_are_followed_as_well(self) -> None:
        rules = policy("balanced", weights=Weights(utilisation=90, load=0, affinity=0, proximity=0))
        cluster = Cluster().nodes("a b c", cpu=64, memory="100Gi")
        cluster = cluster.running("skew", on=["a", "b"], cpu=30, memory="1Gi").job("j", cpu=0.2, memory="1Gi")
        at_once, slowly = Workbench(cluster, rules), Workbench(cluster, rules)
        found = place_equal(at_once.signature("j"), at_once.board, 100)
        assert at_once.names(found) == one_by_one(slowly, "j", 100)


@pytest.mark.covers("gang-1")
class TestGangs:
    CLUSTER = Cluster().nodes("a b", cpu=3, gpus=1)

    def test_all_of_it_or_nothing(self) -> None:
        assert placed(self.CLUSTER.job("j", cpu=1, tasks=6)) == ["a", "b"] * 3
        assert placed(self.CLUSTER.job("j", cpu=1, tasks=7)) is None

    @pytest.mark.covers("gang-2")
    @pytest.mark.parametrize(("least", "count"), [(7, None), (6, 6), (2, 6)])
    def test_as_many_as_fit_but_at_least_those_that_are_needed(self, least: int, count: int | None) -> None:
        found = placed(self.CLUSTER.job("j", cpu=1, tasks=9, min_available=least))
        assert (None if found is None else len(found)) == count

    @pytest.mark.parametrize(
        "words",
        [
            {"cpu": 1, "tasks": 7},
            {"cpu": 1, "tasks": 200},
            {"gpu": 1, "tasks": 3},
            {"gpu": 0.6, "tasks": 3},
            {"tasks": 3, "labels": {"app": "j"}, "affinity": [apart("host", "app In j")]},
            {"tasks": 7, "cpu": 1, "labels": {"app": "j"}, "affinity": [near("host", "app In j")]},
            {"tasks": 7, "cpu": 1, "labels": {"app": "j"}, "spread": [spread("host", "app In j")]},
            {"cpu": 1, "tasks": 4, "topology": [lie("host", "same")]},
            {"cpu": 1, "tasks": 3, "topology": [lie("host", "different")]},
            {"cpu": 1, "tasks": 7, "topology": [lie("host", "count", 2)]},
            {"groups": [tasks(2, cpu=3), tasks(1, cpu=1)]},
        ],
    )
    def test_one_that_does_not_fit_leaves_no_trace(self, words: dict[str, Any]) -> None:
        bench = Workbench(self.CLUSTER.job("j", **words).job("other", cpu=1, labels={"app": "j"}))
        work = bench.work("j")
        bench.put("other", "a")
        before = bench.state()
        assert place(work, bench.board) is None
        assert bench.state() == before
        assert bench.best("other") == "b"

    def test_the_largest_tasks_are_placed_first(self) -> None:
        cluster = Cluster().node("big", cpu=4).node("small", cpu=2)
        job = cluster.job("j", groups=[tasks(2, cpu=1), tasks(1, cpu=4)])
        bench = Workbench(job)
        seats = place(bench.work("j"), bench.board)
        assert seats is not None
        assert [(seat.group, bench.nodes.names[seat.position]) for seat in seats] == [
            (1, "big"),
            (0, "small"),
            (0, "small"),
        ]

    def test_equal_groups_are_placed_in_their_order(self) -> None:
        bench = Workbench(Cluster().node("n", cpu=9).job("j", groups=[tasks(1, cpu=1), tasks(2, cpu=1)]))
        seats = place(bench.work("j"), bench.board)
        assert seats is not None
        assert [seat.group for seat in seats] == [0, 1, 1]

    @pytest.mark.covers("decide-4")
    def test_a_group_that_must_be_near_another_of_the_job_comes_after_it(self) -> None:
        worker = tasks(2, cpu=1, labels={"role": "worker"}, affinity=[near("host", "role In master")])
        master = tasks(1, cpu=1, labels={"role": "master"})
        for groups in ([worker, master], [master, worker]):
            found = placed(Cluster().nodes("a b", cpu=9).job("j", groups=groups))
            assert found is not None
            assert len(set(found)) == 1

    @pytest.mark.covers("decide-2")
    def test_each_seat_has_its_own_devices(self) -> None:
        cluster = Cluster().node("n", cpu=9, gpus=4).job("j", groups=[tasks(1, gpu=2), tasks(2, gpu=0.5)])
        bench = Workbench(cluster)
        seats = place(bench.work("j"), bench.board)
        assert seats is not None
        assert [(seat.group, seat.devices) for seat in seats] == [(0, (0, 1)), (1, (2,)), (1, (2,))]


ZONES = (
    Cluster()
    .nodes("a1 a2", cpu=2, zone="a")
    .nodes("b1 b2 b3", cpu=2, zone="b")
    .nodes("c1", cpu=2, zone="c")
    .node("x", cpu=99)
)


@pytest.mark.covers("decide-4")
class TestTopology:
    @staticmethod
    def zones(cluster: Cluster, **words: Any) -> str | None:
        """The zones of the tasks of a job, sorted."""
        found = placed(cluster.job("j", cpu=1, **words))
        return None if found is None else "".join(sorted(name[0] for name in found))

    @pytest.mark.parametrize(
        ("count", "least", "zones"),
        [(3, 3, "aaa"), (4, 4, "aaaa"), (5, 5, "bbbbb"), (6, 6, "bbbbbb"), (7, 7, None), (7, 4, "bbbbbb")],
    )
    def test_in_one_domain_that_holds_it_all_or_else_the_most(
        self, count: int, least: int, zones: str | None
    ) -> None:
        rules = [lie("zone", "same")]
        assert self.zones(ZONES, tasks=count, min_available=least, topology=rules) == zones

    @pytest.mark.parametrize(("count", "zones"), [(1, 1), (3, 3), (4, None)])
    def test_each_in_another_domain(self, count: int, zones: int | None) -> None:
        found = self.zones(ZONES, tasks=count, topology=[lie("zone", "different")])
        assert (None if found is None else len(set(found))) == zones
        assert found is None or (len(found) == count and "x" not in found)

    @pytest.mark.parametrize(
        ("count", "domains", "zones"),
        [
            (2, 2, "ab"),
            (10, 2, "aaaabbbbbb"),
            (3, 3, "abc"),
            (11, 2, None),
            (12, 3, "aaaabbbbbbcc"),
            (2, 3, None),
        ],
    )
    def test_in_so_many_domains_and_each_of_them_used(
        self, count: int, domains: int, zones: str | None
    ) -> None:
        assert self.zones(ZONES, tasks=count, topology=[lie("zone", "count", domains)]) == zones

    def test_more_domains_than_there_are_is_nowhere(self) -> None:
        assert self.zones(ZONES, tasks=9, topology=[lie("zone", "count", 4)]) is None

    def test_rules_that_bound_over_several_keys_hold_together(self) -> None:
        rules = [lie("zone", "same"), lie("host", "count", 2)]
        found = placed(ZONES.job("j", cpu=1, tasks=3, topology=rules))
        assert found is not None
        assert (len({name[0] for name in found}), len(set(found))) == (1, 2)
        assert placed(ZONES.job("j", cpu=1, tasks=5, topology=rules)) is None

    def test_rules_over_several_keys_hold_together(self) -> None:
        rules = [lie("zone", "same"), lie("host", "different")]
        assert placed(ZONES.job("j", cpu=1, tasks=3, topology=rules)) == ["b1", "b2", "b3"]
        assert placed(ZONES.job("j", cpu=1, tasks=4, topology=rules)) is None

    def test_domains_that_hold_all_groups_are_found(self) -> None:
        cluster = Cluster().node("a", cpu=9, zone="a").node("b", cpu=4, gpus=1, zone="b")
        job = cluster.job("j", groups=[tasks(3, cpu=1), tasks(1, gpu=1)], topology=[lie("zone", "same")])
        assert placed(job) == ["b"] * 4

    def test_so_many_domains_that_hold_all_groups_are_found(self) -> None:
        cluster = (
            Cluster()
            .nodes("a1 a2", cpu=9, zone="a")
            .nodes("b1 b2", cpu=9, zone="b")
            .node("c1", cpu=1, gpus=1, zone="c")
        )
        job = cluster.job("j", groups=[tasks(3, cpu=1), tasks(1, gpu=1)], topology=[lie("zone", "count", 2)])
        found = placed(job)
        assert found is not None
        assert {name[0] for name in found} in ({"a", "c"}, {"b", "c"})

    def test_so_many_domains_whose_hosts_are_many_enough_are_found(self) -> None:
        cluster = (
            Cluster()
            .node("a1", cpu=99, zone="a")
            .nodes("b1 b2 b3", cpu=2, zone="b")
            .nodes("c1 c2 c3", cpu=2, zone="c")
        )
        rules = [lie("zone", "count", 2), lie("host", "different")]
        assert self.zones(cluster, tasks=6, topology=rules) == "bbbccc"


@pytest.mark.covers("decide-4", "gang-1")
class TestGangsThatWantTheirOwnCompany:
    WORDS: ClassVar[dict[str, Any]] = {
        "cpu": 1,
        "labels": {"app": "j"},
        "affinity": [near("zone", "app In j")],
    }

    @pytest.mark.parametrize("count", [5, 6])
    def test_go_to_a_domain_that_holds_them_all(self, count: int) -> None:
        found = placed(ZONES.job("j", tasks=count, **self.WORDS))
        assert found is not None
        assert {name[0] for name in found} == {"b"}

    def test_take_no_other_group_of_the_job_along(self) -> None:
        cluster = Cluster().node("a", cpu=9, zone="a").node("b", cpu=1, gpus=1, zone="b")
        found = placed(cluster.job("j", groups=[tasks(3, **self.WORDS), tasks(1, gpu=1)]))
        assert found is not None
        assert sorted(found) == ["a", "a", "a", "b"]

    def test_wait_where_none_does(self) -> None:
        assert placed(ZONES.job("j", tasks=7, **self.WORDS)) is None


@pytest.mark.covers("decide-4", "gang-2")
class TestWhereSomeRun:
    """The tasks that run already bind those that are still to come."""

    def test_to_their_domain(self) -> None:
        cluster = ZONES.running("j", on=["c1"], cpu=1, tasks=2, topology=[lie("zone", "same")])
        assert placed(cluster) == ["c1"]

    def test_to_no_domain_that_is_full(self) -> None:
        cluster = ZONES.running("j", on=["c1"], cpu=1, tasks=3, topology=[lie("zone", "same")])
        assert placed(cluster) is None

    def test_to_another_domain(self) -> None:
        cluster = ZONES.running("j", on=["a1", "c1"], cpu=1, tasks=3, topology=[lie("zone", "different")])
        assert placed(cluster) == ["b1"]

    def test_to_so_many_domains_in_all(self) -> None:
        cluster = ZONES.running("j", on=["c1"], cpu=1, tasks=4, topology=[lie("zone", "count", 2)])
        found = placed(cluster)
        assert found is not None
        assert len({"c", *(name[0] for name in found)}) == 2
