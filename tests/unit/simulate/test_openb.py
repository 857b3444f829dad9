"""The packing experiment on an excerpt; the numbers of the two published policies are those of an independent
simulation in C++ that reproduces the published values on the whole trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.intake.traces.openb import Arrivals, OpenbNode, OpenbPod, read_arrivals, read_nodes, read_pods
from rota.simulate.openb import POLICIES, PackingResult, run

DATA = Path(__file__).parents[2] / "data" / "openb"
NODES = read_nodes(str(DATA / "nodes.csv"))
PODS = read_pods(str(DATA / "pods.csv"))


def outcome(policy: str, seed: int) -> PackingResult:
    arrivals = read_arrivals(str(DATA / "arrivals.json.gz"), seed, len(NODES), len(PODS))
    return run(NODES, PODS, arrivals, policy)


@pytest.mark.parametrize(
    ("policy", "seed", "at_100", "at_130", "share", "whole"),
    [
        ("best-fit-gpu", 1, 93.04, 93.82, 0.7396, 0.6923),
        ("best-fit-gpu", 2, 92.32, 92.82, 0.6574, 0.7190),
        ("fgd", 1, 94.84, 95.32, 0.7292, 0.7077),
        ("fgd", 2, 94.11, 94.67, 0.6574, 0.7355),
    ],
)
@pytest.mark.slow
def test_published_policies(
    policy: str, seed: int, at_100: float, at_130: float, share: float, whole: float
) -> None:
    found = outcome(policy, seed)
    assert found.allocated[100] == pytest.approx(at_100, abs=0.011)
    assert found.allocated[130] == pytest.approx(at_130, abs=0.011)
    assert found.placed == {"1-gpu": whole, "cpu-only": 1.0, "multi-gpu": 1.0, "share": share}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_rotas_own_allocates_more(seed: int) -> None:
    ours, theirs = outcome("gpu-packing", seed), outcome("fgd", seed)
    assert ours.allocated[100] >= theirs.allocated[100] + 0.5
    assert ours.allocated[130] >= theirs.allocated[130] + 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_dropped_that_fits(policy: str) -> None:
    """Two nodes, three pods: each has a place, whatever the policy prefers."""
    nodes = [OpenbNode("a", 8000, 1000, 1, "T4"), OpenbNode("b", 8000, 1000, 1, "P100")]
    pods = [
        OpenbPod("x", 1000, 10, 1, 600, ("P100",)),
        OpenbPod("y", 1000, 10, 1, 600, ()),
        OpenbPod("z", 9, 9, 0, 0, ()),
    ]
    found = run(nodes, pods, Arrivals((0, 1, 2), (0, 1)), policy)
    assert found.placed == {"cpu-only": 1.0, "share": 1.0}
    assert found.allocated == {30: 30.0, 60: 60.0}


def test_equal_nodes_go_by_rank_and_what_was_dropped_stays_out() -> None:
    nodes = [OpenbNode("a", 8000, 1000, 1, "T4"), OpenbNode("b", 8000, 1000, 1, "T4")]
    pods = [OpenbPod("x", 1000, 10, 1, 600, ()), OpenbPod("y", 1000, 10, 2, 1000, ())]
    found = run(nodes, pods, Arrivals((0, 1, 0, 0), (1, 0)), "best-fit-gpu")
    assert found.placed == {"multi-gpu": 0.0, "share": 0.6667}
    assert found.allocated == {30: 30.0, 130: 30.0, 160: 60.0, 190: 60.0}
