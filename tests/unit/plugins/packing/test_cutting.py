"""Shadow prices: what is left of a GPU is worth what the best packing would make of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.plugins.packing.cutting import _prices, worth_milli

mixes = st.dictionaries(st.integers(20, 1000), st.integers(1, 500), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("tasks", "left", "worth"),
    [
        ({500: 10}, 500, 500),
        ({500: 10}, 499, 0),
        ({470: 10}, 530, 500),
        ({810: 10}, 190, 0),
        # More small ones than large ones: what a large one leaves is worth a third of a GPU.
        ({650: 10, 320: 20}, 350, 333),
        # Few small ones: those that there are fit in anyway.
        ({650: 10, 320: 1}, 350, 0),
        ({250: 3, 330: 3, 420: 3}, 1000, 1000),
        ({}, 300, 300),
        ({810: 0}, 300, 300),
    ],
)
def test_worth(tasks: dict[int, int], left: int, worth: int) -> None:
    assert worth_milli(tasks)[left] == worth


@pytest.mark.slow
@given(mixes)
def test_more_is_never_worth_less_and_two_pieces_never_more_than_one(tasks: dict[int, int]) -> None:
    worth = worth_milli(tasks)
    assert (worth[0], worth[1000], len(worth)) == (0, 1000, 1001)
    assert worth == sorted(worth)
    for left in range(0, 1001, 50):
        assert worth[left] + worth[1000 - left] <= 1001  # rounding


@given(st.dictionaries(st.sampled_from([230, 320, 470, 650, 810]), st.integers(1, 50), min_size=1))
def test_prices_are_those_of_the_best_packing(tasks: dict[int, int]) -> None:
    """No way to cut a GPU is worth more than one, and the mix is worth what packing it takes: by
    duality, one that packs so can't be improved on. Every way is tried."""
    shares = sorted(tasks)
    prices = _prices(shares, [tasks[share] for share in shares])
    ways = [
        way
        for way in product(*(range(1000 // share + 1) for share in shares))
        if sum(times * share for times, share in zip(way, shares, strict=True)) <= 1000
    ]
    assert all(sum(t * p for t, p in zip(way, prices, strict=True)) <= 1 for way in ways)
    assert min(prices) >= 0
    total = sum((price * tasks[share] for price, share in zip(prices, shares, strict=True)), Fraction(0))
    # First fit, largest first, is a packing: the price of the mix can't be above it.
    assert _by_volume(tasks) <= total <= _first_fit(tasks)


def _by_volume(tasks: dict[int, int]) -> Fraction:
    return Fraction(max(sum(s * n for s, n in tasks.items()), 1000 * tasks.get(810, 0)), 1000)


def _first_fit(tasks: dict[int, int]) -> int:
    left: list[int] = []
    for share in sorted((s for s, n in tasks.items() for _ in range(n)), reverse=True):
        at = next((at for at, room in enumerate(left) if room >= share), None)
        if at is None:
            left.append(1000 - share)
        else:
            left[at] -= share
    return len(left)
