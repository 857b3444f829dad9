"""Tortures real clusters, by seeds: python -m tests.crash --first 1 --points 1000"""

from __future__ import annotations

import argparse
import signal
import sys
from time import monotonic

from tests.crash.plan import POINTS, plan
from tests.crash.torture import Failed, Round


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash",
        description=f"Servers, schedulers, agents and databases, killed and frozen {POINTS} times a seed.",
    )
    parser.add_argument("--first", type=_positive, default=1, metavar="SEED", help="the first seed")
    parser.add_argument("--points", type=_positive, default=60, metavar="COUNT", help="how many times")
    parser.add_argument("--trace", action="store_true", help="tell all that is done")
    asked = parser.parse_args()
    # Whoever ends this doesn't want to be left with a cluster.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began_s = monotonic()
    failed = 0
    seeds = -(-asked.points // POINTS)
    for seed in range(asked.first, asked.first + seeds):
        left = min(POINTS, asked.points - POINTS * (seed - asked.first))
        one = Round(plan(seed, left))
        try:
            print(f"seed {seed}: {one.run()}; {one.plan.kind.value}", flush=True)
        except Failed as error:
            failed += 1
            print(error, flush=True)
        if asked.trace:
            print("\n".join(one.notes), flush=True)
    print(
        f"{seeds - failed} of {seeds} rounds passed, {asked.points} points in {monotonic() - began_s:.0f} s"
    )
    return 1 if failed else 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
