"""Only nodes of certain pools."""

import pytest

from rota.plugins.pool import NotInPool, PoolFilter
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-13")

POOLS = Cluster().node("a", pool="cpu").node("b", pool="gpu").node("c")


@pytest.mark.parametrize(
    ("pools", "passes"),
    [
        ((), ["a", "b", "c"]),
        (("gpu",), ["b"]),
        (("gpu", "cpu"), ["a", "b"]),
        (("default",), ["c"]),
        (("none",), []),
    ],
)
def test_nodes_of_the_pools_that_are_named(pools: tuple[str, ...], passes: list[str]) -> None:
    assert Judged(PoolFilter(), POOLS, spec={"pools": pools}).passes == passes


def test_the_reason_names_the_pools() -> None:
    judged = Judged(PoolFilter(), POOLS, spec={"pools": ("gpu", "cpu")})
    assert judged.reasons == {"c": [NotInPool(("gpu", "cpu"))]}


def test_a_task_that_names_none_costs_nothing() -> None:
    assert Judged(PoolFilter(), POOLS).says_all
