"""100 seeds of everything that can go wrong, and none of it breaks what must hold.

FIRST_SEED and SEEDS choose others; `make faults` does so with a shorter way to a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.faults.seeds import has_scheduler, run, scenario_of

FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SEEDS = int(os.environ.get("SEEDS", "100"))
AT_ONCE = 10
"""In one test: each costs a fraction of a second, and pytest's own work isn't to count."""


@pytest.mark.slow
@pytest.mark.covers("job-3", "agent-5", "ops-2", "prio-2")
@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, AT_ONCE))
def test_nothing_is_lost_and_nothing_runs_twice(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, FIRST_SEED + SEEDS)):
        result = run(scenario_of(seed))
        again = f"again, and shorter: make faults FIRST_SEED={seed} SEEDS=1"
        assert result.violation is None, f"seed {seed} breaks {result.violation}; {again}"


SERVER, SCHEDULER = 17, 20
"""A seed of each kind."""


def test_there_are_seeds_of_both_kinds() -> None:
    assert not has_scheduler(SERVER)
    assert has_scheduler(SCHEDULER)


@pytest.mark.parametrize("seed", [SERVER, SCHEDULER], ids=["server", "scheduler"])
def test_the_same_seed_is_the_same_run(seed: int) -> None:
    first, second = (run(scenario_of(seed)) for _ in range(2))
    assert first.trace == second.trace
    assert first.digest == second.digest
    assert len(first.trace) > 50
    assert run(scenario_of(seed + 1)).digest != first.digest


@pytest.mark.parametrize("seed", [SERVER, SCHEDULER], ids=["server", "scheduler"])
def test_it_is_the_same_in_another_process_with_other_hashes(seed: int) -> None:
    asked = f"from tests.faults.__main__ import _run; print(_run({seed}).digest)"
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
    assert run(scenario_of(seed)).digest in next(iter(digests))
