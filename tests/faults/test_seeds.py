"""500 seeds of everything that can go wrong, and none of it breaks what must hold.

FIRST_SEED and SEEDS choose others; `make faults` does so with a shorter way to a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rota.faults.scenario import scenario
from rota.faults.world import World

FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SEEDS = int(os.environ.get("SEEDS", "500"))
AT_ONCE = 25
"""In one test: each costs a fraction of a second, and pytest's own work isn't to count."""


@pytest.mark.slow
@pytest.mark.covers("job-3", "agent-5", "ops-2", "prio-2")
@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, AT_ONCE))
def test_nothing_is_lost_and_nothing_runs_twice(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, FIRST_SEED + SEEDS)):
        result = World(scenario(seed)).run()
        again = f"again, and shorter: make faults FIRST_SEED={seed} SEEDS=1"
        assert result.violation is None, f"seed {seed} breaks {result.violation}; {again}"


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (World(scenario(17)).run() for _ in range(2))
    assert first.trace == second.trace
    assert first.digest == second.digest
    assert len(first.trace) > 50
    assert World(scenario(18)).run().digest != first.digest


def test_it_is_the_same_in_another_process_with_other_hashes() -> None:
    asked = "from rota.faults.__main__ import _run; print(_run(17).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", asked],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hashes in ("1", "2")
    }
    assert len(digests) == 1
    assert World(scenario(17)).run().digest in next(iter(digests))
