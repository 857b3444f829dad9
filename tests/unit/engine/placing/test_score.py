"""The criteria of a score, from free shares and prices."""

from typing import Any

import numpy as np
import pytest

from rota.engine.placing.score import (
    FULL,
    PRICE_STEP,
    SCALE,
    cheapness,
    judged_shares,
    price_rank,
    share_weights,
    task_price_micro,
    utilisation,
)
from rota.model.policy import Strategy, Weights
from rota.model.task import CostGoal
from rota.snapshot import rows
from tests.builders import Cluster
from tests.unit.engine.workbench import Workbench


@pytest.mark.parametrize(
    ("words", "judged"),
    [
        ({}, [rows.SLOTS]),
        ({"cpu": 1}, [rows.CPU]),
        ({"cpu": 1, "memory": "1Gi"}, [rows.CPU, rows.MEMORY]),
        ({"memory": "1Gi", "gpu": 1}, [rows.MEMORY, rows.GPU_MILLI]),
        ({"storage": "1Gi"}, [rows.SLOTS]),
    ],
)
def test_a_node_is_judged_by_what_the_task_asks_for(words: dict[str, Any], judged: list[int]) -> None:
    demand = Workbench(Cluster().node("n").job("j", **words)).signature("j").demand
    assert [rows.SHARED[at] for at in judged_shares(demand)] == judged


@pytest.mark.covers("decide-6")
@pytest.mark.parametrize(
    ("strategy", "left", "value"),
    [
        (Strategy.LEAST_LOADED, [600_000, 200_000], 400_000),
        (Strategy.BIN_PACKING, [600_000, 200_000], 600_000),
        (Strategy.BALANCED, [600_000, 200_000], 600_000),
        (Strategy.BALANCED, [300_000, 300_000], FULL),
        (Strategy.BALANCED, [FULL, 0, 500_000], 0),
        (Strategy.LEAST_LOADED, [FULL], FULL),
        (Strategy.BIN_PACKING, [FULL], 0),
    ],
)
def test_utilisation_of_what_is_left(strategy: Strategy, left: list[int], value: int) -> None:
    assert utilisation(strategy, [np.array([share]) for share in left]).tolist() == [value]


@pytest.mark.parametrize(
    ("strategy", "judged", "weights"),
    [
        (Strategy.LEAST_LOADED, (0,), (40 * SCALE, 0, 0, 30 * SCALE)),
        (Strategy.LEAST_LOADED, (0, 1), (20 * SCALE, 20 * SCALE, 0, 30 * SCALE)),
        (Strategy.LEAST_LOADED, (3,), (0, 0, 0, 70 * SCALE)),
        (Strategy.BIN_PACKING, (0,), (-40 * SCALE, 0, 0, 30 * SCALE)),
        (Strategy.BALANCED, (0, 1), (0, 0, 0, 30 * SCALE)),
        (Strategy.ROUND_ROBIN, (0, 1), (0, 0, 0, 30 * SCALE)),
        (Strategy.CUSTOM, (0, 1), (0, 0, 0, 30 * SCALE)),
    ],
)
def test_what_is_a_sum_of_shares_is_a_weight_on_each(
    strategy: Strategy, judged: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    assert share_weights(strategy, Weights(), judged) == weights


@pytest.mark.parametrize("judged", [(0,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("strategy", [Strategy.LEAST_LOADED, Strategy.BIN_PACKING])
def test_a_weight_is_shared_without_a_rest(strategy: Strategy, judged: tuple[int, ...]) -> None:
    weights = share_weights(strategy, Weights(utilisation=7, load=0), judged)
    assert abs(sum(weights)) == 7 * SCALE
    assert len({weights[at] for at in judged}) == 1


@pytest.mark.covers("decide-9")
class TestPrice:
    CLUSTER = (
        Cluster()
        .node("free", cpu=4)
        .node("half", cpu=4, memory="4Gi", price=2)
        .node("big", cpu=16, memory="4Gi", gpus=2, price=8)
        .offer("o", limit=1, cpu=64, price=4)
    )

    @pytest.mark.parametrize(
        ("words", "node", "price"),
        [
            ({"cpu": 2}, "half", 1_000_000),
            ({"cpu": 2}, "big", 1_000_000),
            ({"cpu": 1, "memory": "3Gi"}, "half", 1_500_000),
            ({"cpu": 1, "memory": "3Gi"}, "big", 6_000_000),
            ({"gpu": 1}, "big", 4_000_000),
            ({"gpu": 0.5}, "big", 2_000_000),
            ({"spec": {"exclusive": True}}, "half", 2_000_000),
            ({"cpu": 99}, "half", 2_000_000),
            ({"cpu": 2}, "free", 0),
            ({"cpu": 2}, "o#0", 4_000_000),
        ],
    )
    def test_a_task_costs_its_largest_share_of_the_node_or_all_of_one_started_for_it(
        self, words: dict[str, Any], node: str, price: int
    ) -> None:
        bench = Workbench(self.CLUSTER.job("j", **words))
        assert task_price_micro(bench.signature("j").demand, bench.nodes)[bench.at(node)] == price

    def test_cheapness_is_full_for_nothing_and_none_for_the_dearest(self) -> None:
        bench = Workbench(self.CLUSTER.job("j", cpu=2))
        assert cheapness(bench.signature("j").demand, bench.nodes).tolist() == [FULL, 750_000, 750_000, 0]

    def test_where_nothing_costs_anything_all_are_cheap(self) -> None:
        bench = Workbench(Cluster().nodes("a b", cpu=1).job("j", cpu=1))
        assert cheapness(bench.signature("j").demand, bench.nodes).tolist() == [FULL, FULL]

    def test_for_a_job_that_asks_for_the_cheapest_a_lower_price_outweighs_all_else(self) -> None:
        bench = Workbench(self.CLUSTER.job("j", cpu=2, spec={"cost_goal": CostGoal.CHEAPEST}))
        signature = bench.signature("j")
        rank = price_rank(signature.task.spec, signature.demand, bench.nodes)
        assert rank is not None
        assert (rank // PRICE_STEP).tolist() == [2, 1, 1, 0]

    def test_to_the_others_the_price_is_no_rank(self) -> None:
        bench = Workbench(self.CLUSTER.job("j", cpu=2))
        signature = bench.signature("j")
        assert price_rank(signature.task.spec, signature.demand, bench.nodes) is None
