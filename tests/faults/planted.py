"""Looks for planted bugs by the simulation: after how many seeds is one caught, and by what."""

from __future__ import annotations

from rota.faults.scenario import scenario
from rota.faults.world import World
from tests.planting.bugs import BUGS
from tests.planting.caught import Caught

MOST_SEEDS = 1000


def find(bug: str, first_seed: int = 1, most_seeds: int = MOST_SEEDS) -> Caught:
    with BUGS[bug].plant_in_simulation()():
        for tries in range(1, most_seeds + 1):
            violation = World(scenario(first_seed + tries - 1)).run().violation
            if violation is not None:
                return Caught(bug, tries, str(violation))
    return Caught(bug, most_seeds)
