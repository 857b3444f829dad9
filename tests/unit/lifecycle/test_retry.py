"""How long the pause before a retry is."""

from __future__ import annotations

import pytest

from rota.lifecycle.retry import pause_ms
from rota.model.run import Retry

RETRY = Retry(limit=100, backoff_ms=1000, max_backoff_ms=60_000)


@pytest.mark.covers("job-6", "time-10")
def test_pauses_double_up_to_the_longest() -> None:
    pauses = [pause_ms(RETRY, retries, 0.0) for retries in (1, 2, 3, 6, 7, 8, 100_000)]
    assert pauses == [1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000]


@pytest.mark.covers("job-6", "time-10")
def test_chance_makes_them_longer_by_up_to_a_half() -> None:
    assert [pause_ms(RETRY, 2, chance) for chance in (0.0, 0.5, 0.999)] == [2000, 2500, 2999]


def test_no_backoff_is_no_pause() -> None:
    assert pause_ms(Retry(limit=1, backoff_ms=0), 1, 0.9) == 0
