"""The best node for a kind of task, against scores computed the slow way."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rota.engine.placing.score import FULL, LEVEL, SCALE
from rota.engine.placing.topology import NO_FOOTPRINT
from rota.model.job import JobTemplate
from rota.model.policy import Policy, Strategy, Weights
from rota.model.taints import Effect, tolerated
from rota.model.task import CostGoal, TaskSpec
from rota.snapshot import rows
from tests.builders import Cluster, policy
from tests.unit.engine.workbench import Workbench, mask
from tests.words import apart, near, spread

SUMS = ["least-loaded", "bin-packing", "balanced"]
STRATEGIES = [*SUMS, "round-robin"]
EVERYTHING = Weights(utilisation=37, load=23, affinity=19, proximity=11, cost=7)

KINDS: dict[str, dict[str, Any]] = {
    "bare": {},
    "cpu": {"cpu": 1},
    "cpu-memory": {"cpu": 1, "memory": "3Gi"},
    "gpu": {"cpu": 1, "memory": "1Gi", "gpu": 1},
    "part": {"gpu": 0.4},
    "zoned": {"cpu": 1, "selector": {"zone": "a"}},
    "wishful": {"memory": "1Gi", "prefers": "zone In b", "spec": {"near": (("rack", "1"), ("zone", "a"))}},
    "bold": {"cpu": 2, "tolerates": ["hard", "soft"]},
    "thrifty": {"cpu": 1, "spec": {"cost_goal": CostGoal.CHEAPEST}},
    "frugal": {"cpu": 1, "spec": {"max_price_micro_per_hour": 300_000}},
}


def cluster(chance: random.Random, offers: bool) -> Cluster:
    made = Cluster()
    for number in range(12):
        made = made.node(
            f"n{number:02}",
            cpu=chance.choice([2, 3, 7, 16]),
            memory=f"{chance.choice([4, 9, 31])}Gi",
            slots=chance.choice([0, 5]),
            gpus=chance.choice([0, 1, 3]),
            labels={"zone": chance.choice("ab"), "rack": chance.choice("12")},
            taints=chance.choice([[], [], [], ["hard:NoSchedule"], ["soft:PreferNoSchedule"]]),
            price=chance.choice([0, 1, 3]),
            load=chance.choice([0, 0, 500]),
            ready=chance.random() < 0.9,
        )
    if offers:
        made = made.offer("o", limit=2, cpu=8, memory="16Gi", gpus=2, price=2)
    for name, words in KINDS.items():
        made = made.job(name, **words)
    return made


def part(amount: int, capacity: int) -> Fraction:
    return Fraction(amount, capacity) if capacity else Fraction(0)


class Slowly:
    """Criteria of a node as the documentation words them, in exact fractions of 1."""

    def __init__(self, bench: Workbench, name: str) -> None:
        self.bench = bench
        self.template: JobTemplate = bench.job(name).template
        self.spec: TaskSpec = self.template.groups[0].spec
        self.demand = bench.snapshot.demand(self.spec)
        self.policy = bench.policy.schedulers[0]
        self.measured = {node.name: node.load_milli for node in bench.cluster.records.nodes}

    def feasible(self, at: int) -> bool:
        nodes, node = self.bench.nodes, self.bench.nodes.specs[at]
        labels = dict(node.labels)
        most = self.spec.max_price_micro_per_hour
        return (
            bool((self.bench.board.free[:, at] >= self.demand.need).all())
            and bool(nodes.ready[at])
            and all(labels.get(key) == value for key, value in self.spec.node_selector)
            and all(
                tolerated(taint, self.spec.tolerations)
                for taint in node.taints
                if taint.effect is not Effect.PREFER_NO_SCHEDULE
            )
            and (most is None or self.price(at) <= most)
        )

    def price(self, at: int) -> Fraction:
        nodes, take = self.bench.nodes, self.demand.take
        shares = [
            part(int(take[row]), int(nodes.capacity[row, at]))
            for row in (rows.CPU, rows.MEMORY, rows.GPU_MILLI, rows.SHARES)
        ]
        whole = not nodes.exists[at]
        return nodes.specs[at].price_micro_per_hour * (
            Fraction(1) if whole else min(max(shares), Fraction(1))
        )

    def left(self, row: int, at: int) -> Fraction:
        free = int(self.bench.board.free[row, at] - self.demand.take[row])
        return part(free, int(self.bench.nodes.capacity[row, at]))

    def utilisation(self, at: int) -> Fraction:
        asked = [row for row in (rows.CPU, rows.MEMORY, rows.GPU_MILLI) if self.demand.take[row]]
        left = [self.left(row, at) for row in asked] or [self.load(at)]
        match self.policy.selection.strategy:
            case Strategy.LEAST_LOADED:
                return sum(left, Fraction(0)) / len(left)
            case Strategy.BIN_PACKING:
                return 1 - sum(left, Fraction(0)) / len(left)
            case Strategy.BALANCED:
                return 1 - (max(left) - min(left))
            case _:
                count = len(self.bench.nodes)
                return 1 - Fraction((at - self.bench.board.cursor - 1) % count, count)

    def load(self, at: int) -> Fraction:
        measured_milli = self.measured.get(self.bench.nodes.names[at], 0)
        return self.left(rows.SLOTS, at) * (1 - Fraction(measured_milli, 1000))

    def affinity(self, at: int) -> Fraction:
        node = self.bench.nodes.specs[at]
        wishes = [(wish.weight, wish.term.labels.selects(node.labels)) for wish in self.spec.preferred_nodes]
        soft = [
            [t for t in spec.taints if t.effect is Effect.PREFER_NO_SCHEDULE]
            for spec in self.bench.nodes.specs
        ]
        unloved = [any(not tolerated(t, self.spec.tolerations) for t in taints) for taints in soft]
        if any(unloved):
            wishes.append((100, not unloved[at]))
        total = sum(weight for weight, _ in wishes)
        return part(sum(weight for weight, fulfilled in wishes if fulfilled), total)

    def proximity(self, at: int) -> Fraction:
        labels = dict(self.bench.nodes.specs[at].labels)
        matches = sum(labels.get(key) == value for key, value in self.spec.near)
        return part(matches, len(self.spec.near))

    def cost(self, at: int) -> Fraction:
        dearest = max(self.price(other) for other in range(len(self.bench.nodes)))
        return 1 - self.price(at) / dearest if dearest else Fraction(1)

    def rank(self, at: int) -> tuple[Fraction, bool, Fraction]:
        """What comes first: the price where the job asks for the cheapest, nodes that run, the score."""
        weights = self.policy.weights
        score = sum(
            (getattr(weights, name) * getattr(self, name)(at) for name in weights.__struct_fields__),
            Fraction(0),
        )
        cheapest = self.spec.cost_goal is CostGoal.CHEAPEST
        price = -self.price(at) if cheapest else Fraction(0)
        return price, cheapest or bool(self.bench.board.opened[at]), score


def assert_best(bench: Workbench, name: str) -> int:
    """The best is feasible and no other is better, by more than rounding to millionths explains."""
    slow, at = Slowly(bench, name), bench.signature(name).best()
    others = [other for other in range(len(bench.nodes)) if slow.feasible(other)]
    if at < 0:
        assert not others
        return at
    assert at in others
    price, opened, score = slow.rank(at)
    for other in others:
        other_price, other_opened, other_score = slow.rank(other)
        assert price + 1 >= other_price
        if price <= other_price:
            assert opened >= other_opened
            assert opened > other_opened or score >= other_score - Fraction(1, 1000)
    return at


@pytest.mark.covers("decide-1", "decide-6", "decide-7")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_the_best_is_that_of_scores_computed_the_slow_way(strategy: str, seed: int) -> None:
    chance = random.Random(seed)
    bench = Workbench(cluster(chance, offers=seed % 2 == 1), policy(strategy, weights=EVERYTHING))
    placed: list[tuple[str, int, tuple[int, ...]]] = []
    for _ in range(40):
        name = chance.choice(sorted(KINDS))
        at = assert_best(bench, name)
        signature = bench.signature(name)
        if at >= 0:
            placed.append((name, at, bench.board.put(at, signature.demand, signature.footprint)))
        elif placed:
            for _ in range(min(3, len(placed))):
                gone, where, devices = placed.pop(chance.randrange(len(placed)))
                bench.board.lift(where, bench.signature(gone).demand, NO_FOOTPRINT, devices)
    for name in KINDS:
        assert_best(bench, name)


@pytest.mark.covers("decide-7")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", sorted(set(KINDS) - {"thrifty"}))
def test_a_score_is_the_sum_of_its_criteria_by_weight(strategy: str, name: str) -> None:
    bench = Workbench(cluster(random.Random(5), offers=False), policy(strategy, weights=EVERYTHING))
    for node in ["n01", "n02", "n01"]:
        bench.put("cpu", node)
    signature = bench.signature(name)
    scores, weights = signature.feasible_scores(), signature.weights()
    assert set(weights) == set(signature.criteria(0))
    for at in np.flatnonzero(scores >= 0).tolist():
        by_criterion = sum(weights[one] * value for one, value in signature.criteria(at).items())
        assert abs(int(scores[at]) - LEVEL - SCALE * by_criterion) <= SCALE * sum(weights.values())


@pytest.mark.covers("decide-7")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_criteria_are_what_the_documentation_says(strategy: str) -> None:
    bench = Workbench(cluster(random.Random(7), offers=True), policy(strategy, weights=EVERYTHING))
    for name in KINDS:
        slow, signature = Slowly(bench, name), bench.signature(name)
        for at in range(len(bench.nodes)):
            if slow.feasible(at):
                for criterion, value in signature.criteria(at).items():
                    assert abs(Fraction(value, FULL) - getattr(slow, criterion)(at)) < Fraction(1, 900)


class TestTies:
    def test_equal_nodes_go_by_price_then_name(self) -> None:
        made = Cluster().node("b", cpu=4).node("a", cpu=4, price=1).node("c", cpu=4).job("j", cpu=1)
        bench = Workbench(made)
        assert bench.best("j") == "b"
        bench.put("j", "b")
        assert bench.best("j") == "c"
        bench.put("j", "c")
        assert bench.best("j") == "a"


class TestStruckOff:
    """Nodes that were found too full are not looked at again, until they have room."""

    def test_room_that_is_given_back_is_seen(self) -> None:
        bench = Workbench(Cluster().nodes("a b", cpu=1).job("j", cpu=1))
        bench.put("j", "a")
        bench.put("j", "b")
        assert bench.best("j") is None
        bench.board.lift(bench.at("b"), bench.signature("j").demand, NO_FOOTPRINT, ())
        assert bench.best("j") == "b"

    def test_room_that_a_rollback_gives_back_is_seen(self) -> None:
        bench = Workbench(Cluster().nodes("a b", cpu=1).job("j", cpu=1))
        point = bench.board.checkpoint()
        bench.put("j", "a")
        bench.put("j", "b")
        assert bench.best("j") is None
        bench.board.rollback(point)
        assert bench.best("j") == "a"

    def test_a_node_outside_the_mask_is_not_struck_off(self) -> None:
        bench = Workbench(Cluster().nodes("a b", cpu=1).job("j", cpu=1))
        signature = bench.signature("j")
        assert signature.best(mask(bench, "b")) == bench.at("b")
        assert signature.best(mask(bench)) == -1
        assert signature.best() == bench.at("a")

    @pytest.mark.covers("decide-4")
    def test_a_domain_that_is_left_is_open_again(self) -> None:
        made = Cluster().node("a", zone="x", cpu=4).node("b", zone="x", cpu=4)
        bench = Workbench(made.job("j", cpu=1, labels={"app": "j"}, affinity=[apart("zone", "app In j")]))
        bench.put("j", "a")
        assert bench.best("j") is None
        bench.board.rollback(0)
        assert bench.best("j") == "a"

    def test_a_refused_node_stays_refused_when_it_gets_room(self) -> None:
        made = (
            Cluster().node("a", cpu=4, taints=["x:NoSchedule"]).running("r", on=["a"], cpu=4).job("j", cpu=1)
        )
        bench = Workbench(made)
        assert bench.best("j") is None
        bench.board.lift(0, bench.snapshot.demand(bench.job("r").template.groups[0].spec), NO_FOOTPRINT, ())
        assert bench.best("j") is None

    def test_a_cluster_without_nodes_has_no_best(self) -> None:
        assert Workbench(Cluster().job("j", cpu=1)).best("j") is None


class TestManyAtOnce:
    @pytest.mark.parametrize("strategy", SUMS)
    @pytest.mark.parametrize("name", ["bare", "cpu", "cpu-memory", "wishful", "thrifty"])
    def test_a_ladder_has_the_scores_that_one_by_one_would_have(self, strategy: str, name: str) -> None:
        bench = Workbench(cluster(random.Random(3), offers=True), policy(strategy, weights=EVERYTHING))
        signature = bench.signature(name)
        feasible = np.flatnonzero(signature.feasible_scores() >= 0)
        depth = 4
        ladder = signature.score_ladder(feasible, 0, depth)
        room = signature.capacity(feasible)
        for row, at in enumerate(feasible.tolist()):
            point = bench.board.checkpoint()
            for step in range(min(depth, int(room[row]))):
                assert ladder[row, step] == signature.feasible_scores()[at]
                bench.board.put(at, signature.demand, signature.footprint)
            bench.board.rollback(point)

    def test_a_ladder_can_begin_further_up(self) -> None:
        bench = Workbench(cluster(random.Random(3), offers=True), policy("balanced"))
        signature = bench.signature("cpu-memory")
        everywhere = np.arange(len(bench.nodes))
        whole = signature.score_ladder(everywhere, 0, 7)
        assert (signature.score_ladder(everywhere, 3, 4) == whole[:, 3:]).all()

    @pytest.mark.parametrize("name", sorted(KINDS))
    def test_capacity_is_how_many_can_be_put_there(self, name: str) -> None:
        bench = Workbench(cluster(random.Random(4), offers=False))
        bench.put("part", bench.names(np.flatnonzero(bench.board.free[rows.GPU_IDLE] > 0))[0])
        signature = bench.signature(name)
        everywhere = np.arange(len(bench.nodes))
        for at, room in zip(everywhere.tolist(), signature.capacity(everywhere).tolist(), strict=True):
            point, count = bench.board.checkpoint(), 0
            while bench.board.fits(at, signature.demand):
                bench.board.put(at, signature.demand, signature.footprint)
                count += 1
            bench.board.rollback(point)
            assert room == count

    @pytest.mark.parametrize(
        ("words", "strategy", "turns"),
        [
            ({"cpu": 1}, "least-loaded", False),
            ({"cpu": 1, "memory": "1Gi"}, "balanced", False),
            ({"cpu": 1}, "round-robin", True),
            ({"labels": {"a": "b"}, "affinity": [apart("host", "a In b")]}, "least-loaded", True),
            ({"labels": {"a": "b"}, "spread": [spread("zone", "a In b")]}, "least-loaded", True),
            ({"affinity": [near("zone", "a In b", weight=1)]}, "least-loaded", True),
        ],
    )
    def test_turns_are_needed_where_a_placement_changes_other_nodes(
        self, words: dict[str, Any], strategy: str, turns: bool
    ) -> None:
        bench = Workbench(Cluster().nodes("a b").job("j", **words), policy(strategy))
        assert bench.signature("j").needs_turns is turns


class TestOffers:
    @pytest.mark.covers("decide-9")
    def test_a_node_that_runs_comes_before_one_to_be_started(self) -> None:
        made = Cluster().node("own", cpu=9).offer("o", limit=2, cpu=99).job("j", cpu=3)
        bench = Workbench(made)
        chosen = []
        for _ in range(4):
            chosen.append(bench.best("j") or "")
            bench.put("j", chosen[-1])
        assert chosen == ["own", "own", "own", "o#0"]

    @pytest.mark.covers("decide-9")
    def test_one_that_this_plan_starts_comes_before_another(self) -> None:
        bench = Workbench(Cluster().offer("o", limit=2, cpu=9).job("j", cpu=3).job("k", cpu=1))
        bench.put("j", "o#1")
        assert bench.best("k") == "o#1"


def test_the_larger_task_is_the_one_that_takes_the_larger_share_of_all_there_is() -> None:
    made = Cluster().node("a", cpu=100, memory="10Gi", gpus=1).node("b", cpu=100, memory="10Gi")
    bench = Workbench(made.job("cpu", cpu=10).job("memory", memory="2Gi").job("gpu", gpu=0.5))
    sizes = [bench.signature(name).largest_share() for name in ("cpu", "memory", "gpu")]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


@pytest.mark.covers("decide-5")
class TestWishes:
    """Wishes about nodes and about other jobs share the affinity criterion, each by its weight."""

    def test_a_soft_taint_counts_beside_a_wish_about_other_jobs(self) -> None:
        made = (
            Cluster()
            .node("a", cpu=4, zone="x", taints=["soft:PreferNoSchedule"])
            .node("b", cpu=4, zone="x")
            .running("db", on=["a"], labels={"app": "db"})
            .running("other", on=["b"])
            .job("j", affinity=[near("zone", "app In db", weight=10)])
        )
        assert Workbench(made).best("j") == "b"

    @pytest.mark.covers("decide-4")
    @pytest.mark.parametrize(("weight", "best"), [(50, "ssd"), (200, "beside")])
    def test_the_heavier_wish_wins(self, weight: int, best: str) -> None:
        made = (
            Cluster()
            .node("beside", cpu=4)
            .node("ssd", cpu=4, labels={"disk": "ssd"})
            .running("db", on=["beside"], labels={"app": "db"})
            .running("other", on=["ssd"])
            .job("j", affinity=[near("host", "app In db", weight)], prefers="disk In ssd")
        )
        assert Workbench(made).best("j") == best


def test_criteria_of_a_policy_without_a_weight_for_cost_do_not_name_it() -> None:
    bench = Workbench(Cluster().node("a", cpu=1, price=1).job("j", cpu=1), Policy())
    assert set(bench.signature("j").criteria(0)) == {"utilisation", "load", "affinity", "proximity"}
