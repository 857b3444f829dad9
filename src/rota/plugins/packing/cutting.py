"""What a piece of a GPU is worth: shadow prices of the cutting-stock problem.

How few GPUs serve the mix, if each is cut into shares? As a linear program over the ways to cut one GPU
(Gilmore and Gomory, "A Linear Programming Approach to the Cutting-Stock Problem", Operations Research 9(6),
1961): its dual gives each share a price, in GPUs, and what is left of a GPU is worth the dearest shares
that it holds. A placement that takes more worth from a GPU than the share's price is one that the best
packing wouldn't make.

The arithmetic is exact, so that every machine finds the same prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

from rota.model.resources import WHOLE_GPU_MILLI

_MOST_SHARES = 32
"""Different shares that are priced, those that ask for the most: the others are worth what they displace."""
_MOST_STEPS = 600
"""The prices are good long before; this bounds the time."""

Pattern = tuple[int, ...]
"""How often each share is cut from one GPU."""


def worth_milli(tasks_by_share: Mapping[int, int]) -> list[int]:
    """The worth of a GPU of which 0, 1, … 1000 thousandths are left, in thousandths of an idle one."""
    asked = {share: tasks for share, tasks in tasks_by_share.items() if tasks > 0}
    by_amount = sorted(asked, key=lambda share: (-share * asked[share], share))
    shares = sorted(by_amount[:_MOST_SHARES])
    if not shares:
        return list(range(WHOLE_GPU_MILLI + 1))
    prices = _prices(shares, [asked[share] for share in shares])
    worth = _Cuts(shares, prices).worth
    # Steps may have run out before the prices were right: then no GPU may be worth more than one.
    return [int(Fraction(one * WHOLE_GPU_MILLI) / worth[-1] + Fraction(1, 2)) for one in worth]


def _prices(shares: Sequence[int], tasks: Sequence[int]) -> list[Fraction]:
    """The simplex method, with ways to cut made up as they are needed.

    It begins with GPUs that are cut into equal shares. `inverse` is that of the matrix of those ways to
    cut that are in use, `used` how many GPUs are cut in each, `cost` 1 for these and 0 for one that
    stands for a share that is cut and thrown away.
    """
    count = len(shares)
    most = [WHOLE_GPU_MILLI // share for share in shares]
    inverse = [[Fraction(int(i == j), most[i]) for j in range(count)] for i in range(count)]
    used = [Fraction(one, times) for one, times in zip(tasks, most, strict=True)]
    cost = [1] * count
    prices: list[Fraction] = []
    for _ in range(_MOST_STEPS):
        in_use = [row for row, costs in zip(inverse, cost, strict=True) if costs]
        prices = [sum((row[share] for row in in_use), Fraction(0)) for share in range(count)]
        lowest = min(prices)
        if lowest < 0:
            entering: Pattern = tuple(-int(share == prices.index(lowest)) for share in range(count))
        else:
            cuts = _Cuts(shares, prices)
            if cuts.worth[-1] <= 1:
                break
            entering = cuts.of_whole()
        change = [
            sum((row[at] * times for at, times in enumerate(entering) if times), Fraction(0))
            for row in inverse
        ]
        leaving = min(
            (at for at in range(count) if change[at] > 0), key=lambda at: (used[at] / change[at], at)
        )
        _pivot(inverse, used, change, leaving)
        cost[leaving] = int(lowest >= 0)
    return [max(price, Fraction(0)) for price in prices]


def _pivot(inverse: list[list[Fraction]], used: list[Fraction], change: list[Fraction], leaving: int) -> None:
    pivot = change[leaving]
    inverse[leaving] = pivot_row = [value / pivot for value in inverse[leaving]]
    used[leaving] /= pivot
    for at, factor in enumerate(change):
        if at != leaving and factor:
            inverse[at] = [
                value - factor * other if other else value
                for value, other in zip(inverse[at], pivot_row, strict=True)
            ]
            used[at] -= factor * used[leaving]


class _Cuts:
    """The dearest ways to cut each amount that may be left of a GPU."""

    def __init__(self, shares: Sequence[int], prices: Sequence[Fraction]) -> None:
        self._shares = shares
        # Whole numbers compare a hundred times faster.
        scale = lcm(*(price.denominator for price in prices))
        priced = [
            (share, int(price * scale), at)
            for at, (share, price) in enumerate(zip(shares, prices, strict=True))
            if price
        ]
        best = [0] * (WHOLE_GPU_MILLI + 1)
        self._last = [-1] * (WHOLE_GPU_MILLI + 1)
        """The share that is cut off first; -1: none, a thousandth is left over."""
        for left in range(1, WHOLE_GPU_MILLI + 1):
            best[left] = best[left - 1]
            for share, price, at in priced:
                if share > left:
                    break
                if best[left - share] + price > best[left]:
                    best[left], self._last[left] = best[left - share] + price, at
        self.worth = [Fraction(one, scale) for one in best]

    def of_whole(self) -> Pattern:
        pattern = [0] * len(self._shares)
        left = WHOLE_GPU_MILLI
        while left > 0:
            at = self._last[left]
            if at < 0:
                left -= 1
            else:
                pattern[at] += 1
                left -= self._shares[at]
        return tuple(pattern)
