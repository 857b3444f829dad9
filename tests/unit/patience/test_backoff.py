"""Pauses grow, up to a longest one, and chance spreads them."""

from __future__ import annotations

from rota.patience.backoff import Backoff

PAUSES = Backoff(first_s=0.5, longest_s=4.0)


def test_pauses_double_up_to_the_longest() -> None:
    assert [PAUSES.pause_s(failures, 0.0) for failures in range(1, 7)] == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]
    assert PAUSES.pause_s(10**9, 0.0) == 4.0


def test_chance_takes_up_to_half_of_it() -> None:
    assert PAUSES.pause_s(2, 1.0) == 0.5
    assert PAUSES.pause_s(2, 0.5) == 0.75
