"""A period, day by day."""

from __future__ import annotations

import pytest

from rota.store.usage_days import DAY_MS, by_day

HOUR_MS = 3_600_000
NOON_MS = 100 * DAY_MS + 12 * HOUR_MS


@pytest.mark.parametrize(
    ("lasted_ms", "days"),
    [
        (0, [0]),
        (HOUR_MS, [HOUR_MS]),
        (12 * HOUR_MS, [12 * HOUR_MS]),
        (13 * HOUR_MS, [12 * HOUR_MS, HOUR_MS]),
        (3 * DAY_MS, [12 * HOUR_MS, DAY_MS, DAY_MS, 12 * HOUR_MS]),
        (-HOUR_MS, [0]),
    ],
)
def test_each_day_has_its_part(lasted_ms: int, days: list[int]) -> None:
    assert list(by_day(NOON_MS, NOON_MS + lasted_ms)) == [
        ((100 + at) * DAY_MS, lasted_ms) for at, lasted_ms in enumerate(days)
    ]
