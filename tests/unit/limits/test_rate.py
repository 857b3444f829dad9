"""So many a minute, by the clock that is given."""

from __future__ import annotations

import pytest

from rota.limits.rate import PerMinute

pytestmark = pytest.mark.covers("trust-4")


def test_a_full_bucket_and_then_a_steady_rate() -> None:
    rate = PerMinute()
    for left in (2, 1, 0):
        assert rate.wait_ms("ada", 3, 0) == 0
        rate.take("ada", 3, 0)
        assert rate.left("ada", 3, 0) == left
    assert rate.wait_ms("ada", 3, 0) == 20_000
    assert rate.wait_ms("ada", 3, 19_999) == 1
    assert rate.wait_ms("ada", 3, 20_000) == 0
    assert rate.wait_ms("bob", 3, 0) == 0


def test_a_clock_that_goes_back_gives_nothing() -> None:
    rate = PerMinute()
    rate.take("ada", 1, 60_000)
    assert rate.wait_ms("ada", 1, 0) == 60_000


def test_only_so_many_are_remembered() -> None:
    rate = PerMinute(most_buckets=2)
    for name in ("a", "b", "c"):
        rate.take(name, 1, 0)
    assert [rate.left(name, 1, 0) for name in ("a", "b", "c")] == [1, 0, 0]
