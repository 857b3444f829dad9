from __future__ import annotations

import pytest

from rota.simulate.report.axes import log_axis
from rota.simulate.report.distribution import cumulative

AXIS = log_axis(3_600_000)


def test_each_duration_is_a_step() -> None:
    points = cumulative([0, 5000, 5000, 60_000], 5, AXIS)
    assert [x for x, _ in points] == [1000, 5000, 60_000, AXIS.high]
    assert [y for _, y in points] == pytest.approx([0.2, 0.6, 0.8, 0.8])


def test_of_many_durations_only_as_many_steps_as_can_be_seen() -> None:
    points = cumulative([*range(1000, 3_000_000, 1000)], 3000, AXIS)
    assert len(points) <= 302
    shares = [y for _, y in points]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(2999 / 3000)


def test_the_distribution_of_no_values_is_flat() -> None:
    assert [y for _, y in cumulative([], 0, AXIS)] == [0, 0]
