"""Runs seeds and tells of those that break something: python -m tests.faults --first 1 --seeds 500"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from multiprocessing import Pool
from time import monotonic

from tests.faults.cluster import Result
from tests.faults.seeds import run, scenario_of
from tests.faults.shrink import shrunk


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description="A simulated cluster on which everything goes wrong, by seeds.",
    )
    parser.add_argument("--first", type=_positive, default=1, metavar="SEED", help="the first seed")
    parser.add_argument("--seeds", type=_positive, default=500, metavar="COUNT", help="how many seeds")
    parser.add_argument("--processes", type=_positive, default=2, help="how many at the same time")
    parser.add_argument("--trace", action="store_true", help="show all that happens, and change nothing")
    asked = parser.parse_args()
    began = monotonic()
    failed = 0
    for result in _results(range(asked.first, asked.first + asked.seeds), asked.processes):
        if asked.trace:
            print("\n".join(result.trace))
        if result.violation is not None:
            failed += 1
            print(_told(result), flush=True)
    print(f"{asked.seeds - failed} of {asked.seeds} seeds passed in {monotonic() - began:.0f} s")
    return 1 if failed else 0


def _results(seeds: range, processes: int) -> Iterator[Result]:
    if processes == 1 or len(seeds) == 1:
        yield from map(_run, seeds)
        return
    with Pool(processes) as pool:
        yield from pool.imap(_run, seeds)


def _run(seed: int) -> Result:
    return run(scenario_of(seed))


def _told(result: Result) -> str:
    seed = result.scenario.seed
    least = shrunk(result)
    asked, struck = len(result.scenario.work), len(result.scenario.faults)
    return "\n".join(
        [
            f"seed {seed} breaks {result.violation}",
            f"  again: make faults FIRST_SEED={seed} SEEDS=1",
            f"  the least of {asked} pieces of work and {struck} faults that breaks it: {least.violation}",
            *(f"    work {number}: {one}" for number, one in least.scenario.work),
            *(f"    fault: {fault}" for fault in least.scenario.faults),
            "  what happens then:",
            *(f"    {line}" for line in least.trace),
        ]
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
