"""Looks for planted bugs by the simulation: after how many seeds is one caught, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from tests.faults.seeds import has_scheduler, run, scenario_of
from tests.planting.bugs import BUGS, Bug, Needs
from tests.planting.caught import Caught

MOST_SEEDS = 1000


def find(bug: str, first_seed: int = 1, most_seeds: int = MOST_SEEDS) -> Caught:
    with BUGS[bug].plant_in_simulation()():
        for tries, seed in enumerate(islice(_seeds(BUGS[bug], first_seed), most_seeds), 1):
            violation = run(scenario_of(seed)).violation
            if violation is not None:
                return Caught(bug, tries, str(violation))
    return Caught(bug, most_seeds)


def _seeds(bug: Bug, first_seed: int) -> Iterator[int]:
    """In which it can show."""
    return (seed for seed in count(first_seed) if has_scheduler(seed) or bug.needs is not Needs.SCHEDULER)
