"""Nodes on which the task would cost more than its job allows."""

import pytest

from rota.plugins.price import PriceFilter, TooExpensive
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-9")

NODES = (
    Cluster()
    .node("free", cpu=4)
    .node("cheap", cpu=4, price=1)
    .node("dear", cpu=4, price=4)
    .offer("o", limit=1, cpu=4, price=2)
)


@pytest.mark.parametrize(
    ("most", "passes"),
    [
        (None, ["free", "cheap", "dear", "o#0"]),
        (0, ["free"]),
        (499_999, ["free"]),
        (500_000, ["free", "cheap"]),
        (1_999_999, ["free", "cheap"]),
        (2_000_000, ["free", "cheap", "dear", "o#0"]),
    ],
)
def test_half_a_node_costs_half_its_price_and_one_to_be_started_all_of_it(
    most: int | None, passes: list[str]
) -> None:
    assert Judged(PriceFilter(), NODES, cpu=2, spec={"max_price_micro_per_hour": most}).passes == passes


def test_the_reason_says_the_least_that_would_have_to_be_paid() -> None:
    judged = Judged(PriceFilter(), NODES, cpu=2, spec={"max_price_micro_per_hour": 100})
    assert judged.reasons["dear"] == [TooExpensive(100, 500_000)]
