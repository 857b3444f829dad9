"""Bugs that are planted are caught: a simulation that finds nothing may be one that sees nothing."""

from __future__ import annotations

import pytest

from tests.faults.planted import find
from tests.faults.seeds import run, scenario_of
from tests.faults.shrink import shrunk
from tests.planting.bugs import BUGS, Bug

QUICKLY_CAUGHT = (
    ("acknowledges before commit", "I1"),
    ("fences begin anew", "I2"),
    ("evicted rooms are given early", "I3"),
    ("clocks of nodes are believed", "I4"),
    ("starts are lost at a restart", "I5"),
    ("actions start before they are recorded", "I4"),
    ("results overtake output", "I1"),
)
"""One for each invariant, and those of a scheduler; `make planted-bugs` tries them all."""


def test_there_are_enough_of_them() -> None:
    assert sum(1 for bug in BUGS.values() if bug.simulated) >= 15


@pytest.mark.parametrize("bug", [bug for bug in BUGS.values() if bug.simulated], ids=lambda bug: bug.name)
def test_each_can_be_planted(bug: Bug) -> None:
    with bug.plant_in_simulation()():
        pass


@pytest.mark.parametrize("bug, invariant", QUICKLY_CAUGHT)
def test_it_is_caught(bug: str, invariant: str) -> None:
    caught = find(bug, most_seeds=30)
    assert caught.by
    assert caught.by.startswith(invariant)


@pytest.mark.parametrize(
    "bug, seed",
    [("acknowledges before commit", 1), ("actions start before they are recorded", 4)],
    ids=["server", "scheduler"],
)
def test_what_is_left_of_a_failure_is_less_and_fails_the_same_way(bug: str, seed: int) -> None:
    with BUGS[bug].plant_in_simulation()():
        failed = run(scenario_of(seed))
        least = shrunk(failed, most_tries=40)
    assert failed.violation is not None
    assert least.violation is not None
    assert least.violation.invariant == failed.violation.invariant
    assert len(least.scenario.work) <= 2
    assert least.scenario.faults == ()
    assert len(failed.scenario.work) > 2
