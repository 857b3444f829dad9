"""Slices of a histogram, against cutting it up value by value."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rota.forecast.histogram import SLICES, Histogram

values = st.lists(st.integers(0, 10**7) | st.integers(0, 40), min_size=1, max_size=300)


def of(numbers: list[int]) -> Histogram:
    histogram = Histogram()
    for number in numbers:
        histogram.add(number)
    return histogram


def cut_up(histogram: Histogram) -> tuple[int, ...]:
    """Each bin's values one after the other, as slices take them."""
    slices, missing, summed = [], histogram.total, 0
    for at in sorted(histogram.counts):
        parts = SLICES * histogram.counts[at]
        while parts:
            taken = min(parts, missing)
            summed += taken * histogram.sums[at] // histogram.counts[at]
            parts, missing = parts - taken, missing - taken
            if not missing:
                slices.append(summed // histogram.total)
                missing, summed = histogram.total, 0
    return tuple(slices)


@given(values)
def test_slices_are_those_that_values_are_cut_up_into(numbers: list[int]) -> None:
    histogram = of(numbers)
    assert histogram.sixteenths() == cut_up(histogram)
    assert len(histogram.sixteenths()) == SLICES


@given(values, values)
def test_slices_are_taken_of_one_that_is_the_same_and_of_no_other(mine: list[int], others: list[int]) -> None:
    histogram, other = of(mine), of(others)
    histogram.take_slices_of(other)
    assert histogram.sixteenths() == cut_up(histogram)
    twin = of(mine)
    twin.take_slices_of(histogram)
    assert twin.slices is histogram.slices
