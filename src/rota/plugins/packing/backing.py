"""How much of a node's GPUs will find no CPU (or memory) to go with them.

The tasks that are to fill the GPUs that are left need a random amount of CPU; with the mean and the variance
of the mix and a normal distribution, the expected amount that is lacking is the loss function of the
newsvendor problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import erfc, exp, pi, sqrt

import numpy as np

from rota.snapshot.arrays import Floats, Int64s

_LEAN = 0.7
"""Of the mean need: tasks that need much go where there is much, so what a scarce node gets needs less."""
_REACH = 4
_STEPS = 1024
"""Of the table, for a standard deviation: rounded, so that it is the same on every machine."""


def _loss(z: float) -> float:
    """The expected value of max(0, z + a standard normal variable)."""
    return round(exp(-z * z / 2) / sqrt(2 * pi) + z * erfc(-z / sqrt(2)) / 2, 9)


@cache
def _losses() -> Floats:
    return np.array([_loss(at / _STEPS - _REACH) for at in range(2 * _REACH * _STEPS + 1)])


class Backing:
    def __init__(self, tasks: Iterable[tuple[int, int, int]]) -> None:
        """(what a task asks for, its GPU in thousandths, how many such tasks)"""
        on_gpu = [entry for entry in tasks if entry[1]]
        total_milli = sum(gpu_milli * count for _, gpu_milli, count in on_gpu)
        total = sum(amount * count for amount, _, count in on_gpu)
        self._mean = _LEAN * total / total_milli if total_milli else 0.0
        """For each thousandth of a GPU."""
        squares = sum(
            count * (amount - self._mean * gpu_milli) ** 2 for amount, gpu_milli, count in sorted(on_gpu)
        )
        self._deviation = sqrt(squares / total_milli) if total_milli else 0.0
        """For one thousandth; it grows with the root of their number."""

    def lacking_milli(self, free: Int64s, gpu_milli: Int64s) -> Floats:
        """The expected part of the GPUs that isn't backed."""
        if not self._mean:
            return np.zeros(len(free))
        short = self._mean * gpu_milli - free
        deviation = np.maximum(self._deviation * np.sqrt(np.maximum(gpu_milli, 0)), 1.0)
        z = short / deviation
        losses = _losses()
        at = np.clip((z + _REACH) * _STEPS, 0, len(losses) - 1).astype(np.int64)
        lacking = np.where(z > _REACH, short, deviation * losses[at])
        return np.where(gpu_milli > 0, lacking / self._mean, 0.0)
