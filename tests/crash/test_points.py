"""60 times something goes wrong on real clusters, and none of it breaks what must hold.

`make torture` does so as often as one likes; docs/faults.md tells more.
"""

from __future__ import annotations

import pytest

from tests.crash.plan import POINTS, plan
from tests.crash.torture import Round
from tests.real.conftest import missing
from tests.real.postgres import Missing

SEEDS = range(1, 6)
"""Each kind of cluster at least once."""


def test_these_are_sixty() -> None:
    assert sum(plan(seed).length for seed in SEEDS) == len(SEEDS) * POINTS == 60


@pytest.mark.slow
@pytest.mark.covers("job-1", "job-3", "job-6", "agent-5", "agent-6", "ops-2", "prio-2", "time-7")
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_and_nothing_runs_twice(seed: int) -> None:
    try:
        Round(plan(seed)).run()
    except Missing as error:
        missing(str(error))
