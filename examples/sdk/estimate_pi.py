"""Estimates π by throwing darts, each handful as a job of its own.

rota server &
python examples/sdk/estimate_pi.py
"""

import random
from concurrent.futures import as_completed

import rota

HANDFULS = 20
DARTS = 200_000


def hits(seed: int) -> int:
    dice = random.Random(seed)
    return sum(dice.random() ** 2 + dice.random() ** 2 < 1 for _ in range(DARTS))


def main() -> None:
    total = 0
    with rota.Executor(resources={"cpu": 1}, time_limit="5m") as executor:
        futures = [executor.submit(hits, seed) for seed in range(HANDFULS)]
        for count, future in enumerate(as_completed(futures), start=1):
            total += future.result()
            print(f"{count:3} of {HANDFULS}: {4 * total / (count * DARTS):.4f}")


if __name__ == "__main__":
    main()
