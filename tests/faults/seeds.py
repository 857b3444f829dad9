"""Which kind of world a seed runs, and running it."""

from __future__ import annotations

from tests.faults.cluster import Result
from tests.faults.scenario import scenario
from tests.faults.scheduler.scenario import action_scenario
from tests.faults.scheduler.world import SchedulerWorld
from tests.faults.troubles import AnyScenario
from tests.faults.world import World

_SCHEDULER_EVERY = 4


def has_scheduler(seed: int) -> bool:
    """And no server."""
    return seed % _SCHEDULER_EVERY == 0


def scenario_of(seed: int) -> AnyScenario:
    return action_scenario(seed) if has_scheduler(seed) else scenario(seed)


def run(chosen: AnyScenario) -> Result:
    """The whole scenario of a seed, or what is left of it."""
    return SchedulerWorld(chosen).run() if has_scheduler(chosen.seed) else World(chosen).run()
