"""How the cost of each call grows with each dimension of its input: at most as n log n, or it says so.

Each input is doubled, alone, until the call takes long enough to be told from noise. The growth is that of
the last two doublings: 2 is linear, 2.2 is n log n at these sizes, 4 is quadratic.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable

from bench.growth_clusters import Action, Dimension
from bench.growth_inputs import dimensions
from bench.harness import Result, report

LIMIT = 2.6
"""By which factor the time may grow with each doubling: n log n, and some noise."""
_LONG_S = 0.06
"""So long a call must take for its growth to be told."""
_LONGEST_S = 2.0
"""Nothing is doubled beyond that: whatever grows so fast is found by then."""
_LEAST_SIZE = 256
"""What is done only so often, such as trials of changes, has reached that by then."""


def cpu_seconds(prepare: Callable[[int], Action], size: int, repeats: int = 3) -> float:
    """The best of several runs, in CPU time of this process: others on the machine have little part in it.
    Each is prepared anew: what a cycle has worked out is kept for the next."""
    best = float("inf")
    for _ in range(repeats):
        action = prepare(size)
        gc.collect()
        gc.disable()
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
        gc.enable()
        if best > _LONGEST_S / 2:
            break
    return best


def measured(one: Dimension) -> tuple[int, list[float]]:
    """The largest size, and the times of it and those before, the smallest first."""
    size = one.first
    times = [cpu_seconds(one.prepare, size)]
    while size < one.most and times[-1] < _LONGEST_S:
        if size >= _LEAST_SIZE and times[-1] >= _LONG_S:
            break
        size *= 2
        times.append(cpu_seconds(one.prepare, size))
    return size, times


def factor(times: list[float]) -> float:
    """Per doubling, over the last two. What takes no time grows by nothing that matters."""
    last, before = times[-1], times[max(0, len(times) - 3)]
    doublings = min(2, len(times) - 1)
    return (last / max(before, 1e-4)) ** (1 / doublings) if last > 0.005 and doublings else 1.0


def result_of(one: Dimension) -> Result:
    size, times = measured(one)
    found = factor(times)
    if found > LIMIT:
        # Once more: what is due to noise goes away.
        size, again = measured(one)
        found = min(found, factor(again))
    case = f"{one.operation}: {one.what} ({size:,})"
    return Result(
        case, f"× per doubling, {times[-1] * 1000:,.0f} ms", False, round(found, 2), LIMIT, "n log n", "≥ 1"
    )


def main() -> None:
    chosen = (os.environ.get("CASES") or "").split()
    results = []
    for one in dimensions():
        if all(word in f"{one.operation}: {one.what}" for word in chosen):
            results.append(result_of(one))
            flag = "" if results[-1].ours <= LIMIT else "  grows too fast"
            print(
                f"{results[-1].case}: {results[-1].ours} {results[-1].metric}{flag}",
                file=sys.stderr,
                flush=True,
            )
    if not chosen:
        report("growth", results, {})
    if too_fast := [one.case for one in results if one.ours > LIMIT]:
        sys.exit("grows faster than n log n: " + "; ".join(too_fast))


if __name__ == "__main__":
    main()
