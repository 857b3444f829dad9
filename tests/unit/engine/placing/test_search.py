"""The thorough way: what can be placed is found, what can't is known for sure, and nothing is left behind."""

import random
from itertools import product

import pytest

from rota.engine.placing.search import search
from rota.engine.placing.work import Apart, Seat, Work, apart_rules
from rota.snapshot.arrays import Bools
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.unit.engine.workbench import Workbench, mask
from tests.words import apart, lie, tasks

pytestmark = pytest.mark.covers("gang-1")


def in_order(work: Work, bench: Workbench, within: Bools | None = None) -> tuple[list[Seat] | None, bool]:
    """The groups in the order in which they are written."""
    return search(work, bench.board, within, range(len(work.counts)))


def found(cluster: Cluster, *within: str) -> tuple[list[tuple[int, str]] | None, bool]:
    """(group, node) of each task, and whether nothing was left untried."""
    bench = Workbench(cluster)
    seats, is_sure = in_order(bench.work("j"), bench, mask(bench, *within) if within else None)
    if seats is None:
        return None, is_sure
    return [(seat.group, bench.nodes.names[seat.position]) for seat in seats], is_sure


class TestFound:
    def test_a_place_that_must_be_given_up_for_another(self) -> None:
        cluster = Cluster().node("a", cpu=2).node("b", cpu=2, labels={"disk": "ssd"})
        cluster = cluster.node("c", cpu=1, labels={"disk": "ssd"})
        job = cluster.job("j", groups=[tasks(1, cpu=1, selector={"disk": "ssd"}), tasks(2, cpu=2)])
        assert found(job) == ([(0, "c"), (1, "a"), (1, "b")], True)

    def test_as_many_as_are_needed_of_whichever_groups_fit(self) -> None:
        cluster = (
            Cluster().node("a", cpu=2).job("j", groups=[tasks(2, cpu=9), tasks(2, cpu=1)], min_available=2)
        )
        assert found(cluster) == ([(1, "a"), (1, "a")], True)

    def test_only_within_the_mask(self) -> None:
        cluster = Cluster().nodes("a b", cpu=2).job("j", cpu=1, tasks=2)
        assert found(cluster, "b")[0] == [(0, "b"), (0, "b")]
        assert found(cluster.job("k", cpu=1), "none") == (None, True)

    def test_each_in_another_domain_where_a_rule_says_so(self) -> None:
        cluster = Cluster().nodes("a1 a2", cpu=9, zone="a").node("b1", cpu=1, zone="b")
        rule = [lie("zone", "different")]
        places, _ = found(cluster.job("j", groups=[tasks(1, cpu=1), tasks(1, cpu=2)], topology=rule))
        assert places == [(0, "b1"), (1, "a1")]
        assert found(cluster.job("j", cpu=1, tasks=3, topology=rule)) == (None, True)

    def test_devices_are_told(self) -> None:
        bench = Workbench(Cluster().node("a", gpus=3).job("j", groups=[tasks(1, gpu=2), tasks(1, gpu=0.5)]))
        seats, _ = in_order(bench.work("j"), bench)
        assert seats is not None
        assert [seat.devices for seat in seats] == [(0, 1), (2,)]


class TestNotFound:
    def test_nothing_is_left_on_the_board(self) -> None:
        cluster = Cluster().nodes("a b", cpu=3, gpus=1)
        job = cluster.job(
            "j",
            groups=[tasks(2, cpu=2), tasks(1, cpu=1, gpu=1), tasks(1, cpu=2)],
            template={"namespace": "x"},
        )
        bench = Workbench(job.job("k", cpu=1, affinity=[apart("host", "app In j")]))
        work = bench.work("j")
        before = bench.state()
        assert in_order(work, bench) == (None, True)
        assert bench.state() == before

    def test_when_it_takes_too_long_it_says_so(self) -> None:
        cluster = Cluster()
        for number in range(12):
            cluster = cluster.node(f"n{number}", cpu=3)
        hopeless = cluster.job("j", groups=[tasks(9, cpu=1), tasks(9, cpu=2), tasks(4, cpu=3)])
        assert found(hopeless) == (None, False)


@pytest.mark.parametrize("seed", sampled(range(25), quick=5))
def test_whatever_can_be_placed_is_found(seed: int) -> None:
    chance = random.Random(seed)
    rooms = [chance.randrange(1, 6) for _ in range(3)]
    sizes = [chance.randrange(1, 5) for _ in range(chance.randrange(2, 5))]
    cluster = Cluster()
    for number, cpu in enumerate(rooms):
        cluster = cluster.node(f"n{number}", cpu=cpu)
    places, is_sure = found(cluster.job("j", groups=[tasks(1, cpu=size) for size in sizes]))
    exists = any(
        all(
            sum(size for size, at in zip(sizes, choice, strict=True) if at == node) <= room
            for node, room in enumerate(rooms)
        )
        for choice in product(range(len(rooms)), repeat=len(sizes))
    )
    assert is_sure
    assert (places is not None) is exists


class TestApart:
    def bench(self, on: list[str]) -> list[Apart]:
        cluster = Cluster().nodes("a1 a2", cpu=9, zone="a").node("b1", cpu=9, zone="b").node("x", cpu=9)
        rules = [lie("zone", "different"), lie("host", "same")]
        if on:
            bench = Workbench(cluster.running("j", on=on, cpu=1, tasks=len(on) + 1, topology=rules))
        else:
            bench = Workbench(cluster.job("j", cpu=1, topology=rules))
        return apart_rules(bench.work("j"), bench.nodes)

    def test_only_nodes_with_the_key_are_free(self) -> None:
        [rule] = self.bench([])
        assert rule.free.tolist() == [True, True, True, False]

    def test_a_node_that_is_used_uses_its_domain(self) -> None:
        [rule] = self.bench([])
        rule.use(1)
        assert rule.free.tolist() == [False, False, True, False]

    def test_where_tasks_of_the_job_run_is_used(self) -> None:
        [rule] = self.bench(["b1"])
        assert rule.free.tolist() == [True, True, False, False]
