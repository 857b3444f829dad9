"""Which harness catches which planted bug, after how many seeds or rounds: `python -m tests.planting`.

`make planted-bugs` calls it. Both harnesses work side by side. A bug that neither catches is a failure.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from enum import Enum
from multiprocessing.pool import AsyncResult, Pool
from types import FrameType

from tests.crash import planted as crash_tests
from tests.faults import planted as simulation
from tests.planting.bugs import BUGS, Bug
from tests.planting.caught import Caught

_AT_ONCE = 2
"""Of both harnesses together: a round of real processes keeps a core busy."""


class Harness(Enum):
    SIMULATION = "simulation"
    CRASH = "crash"
    BOTH = "both"


_HARNESSES = ", ".join(harness.value for harness in Harness)


def main(arguments: Sequence[str]) -> int:
    asked = _asked(arguments)
    _end_in_good_order()
    chosen = [bug for bug in BUGS.values() if not asked.bugs or bug.name in asked.bugs]
    chosen = [bug for bug in chosen if _is_planted(bug, asked.harness)]
    width = max(map(len, BUGS))
    print(f"{'bug':{width}} | simulation: seeds, by | crash tests: rounds, by")
    escaped: list[str] = []
    with Pool(_AT_ONCE, _end_in_good_order, maxtasksperchild=1) as pool:
        looking = [(bug, _looking_for(bug, pool, asked)) for bug in chosen]
        for bug, both in looking:
            found = [None if one is None else one.get() for one in both]
            first, second = map(_cell, found)
            print(f"{bug.name:{width}} | {first:21} | {second}", flush=True)
            _tell(found, asked.tell)
            if not any(one is not None and one.by for one in found):
                escaped.append(bug.name)
    print(f"{len(chosen) - len(escaped)} of {len(chosen)} planted bugs are caught")
    if escaped:
        print(f"caught by nothing: {', '.join(escaped)}")
    return 1 if escaped else 0


def _is_planted(bug: Bug, harness: Harness) -> bool:
    match harness:
        case Harness.SIMULATION:
            return bool(bug.simulated)
        case Harness.CRASH:
            return bool(bug.real)
        case Harness.BOTH:
            return True


def _looking_for(bug: Bug, pool: Pool, asked: argparse.Namespace) -> list[AsyncResult[Caught] | None]:
    """By the simulation, and by the crash tests; None: not at all."""
    by_simulation = bug.simulated and asked.harness is not Harness.CRASH
    by_crashes = bug.real and asked.harness is not Harness.SIMULATION
    return [
        pool.apply_async(simulation.find, (bug.name, 1, asked.seeds)) if by_simulation else None,
        pool.apply_async(crash_tests.find, (bug.name, 1, asked.rounds)) if by_crashes else None,
    ]


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.planting", description="Which planted bugs are caught, after how much."
    )
    parser.add_argument("--harness", type=_harness, default=Harness.BOTH, help=_HARNESSES)
    parser.add_argument(
        "--seeds", type=_positive, default=simulation.MOST_SEEDS, help="after so many it escapes"
    )
    parser.add_argument(
        "--rounds", type=_positive, default=crash_tests.MOST_ROUNDS, help="the same of rounds"
    )
    parser.add_argument("--tell", action="store_true", help="what was seen, too")
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="some of them; none: all")
    asked = parser.parse_args(arguments)
    if unknown := [bug for bug in asked.bugs if bug not in BUGS]:
        parser.error(f"BUG: there is no {unknown[0]!r}; there are: {', '.join(BUGS)}")
    return asked


def _harness(text: str) -> Harness:
    try:
        return Harness(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of: {_HARNESSES}") from None


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _end_in_good_order() -> None:
    """Whoever ends this doesn't want to be left with a cluster."""

    def end(number: int, frame: FrameType | None) -> None:
        # A pool asks more than once, also while all is being removed.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(1)

    signal.signal(signal.SIGTERM, end)


def _cell(found: Caught | None) -> str:
    if found is None:
        return "–"
    left_out = f" ({len(found.failures)} not judged)" if found.failures else ""
    return (f"{found.tries}, {found.rule}" if found.by else f"not in {found.tries}") + left_out


def _tell(found: Sequence[Caught | None], is_wanted: bool) -> None:
    """What wasn't judged is told in any case."""
    for one in found:
        if one is not None:
            for line in (*([one.by] if one.by and is_wanted else []), *one.failures):
                print(f"    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
