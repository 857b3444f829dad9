from __future__ import annotations

import pytest

from rota.simulate.words import counted, duration_text, moment_text, percent_text

SECOND_MS = 1000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 s"),
        (250, "0.25 s"),
        (45 * SECOND_MS, "45 s"),
        (59_700, "1 min"),
        (12 * MINUTE_MS + 30 * SECOND_MS, "12 min 30 s"),
        (2 * HOUR_MS, "2 h"),
        (HOUR_MS + 59 * MINUTE_MS + 40 * SECOND_MS, "2 h"),
        (2 * DAY_MS + 4 * HOUR_MS + MINUTE_MS, "2 d 4 h"),
        (4000 * DAY_MS, "4,000 d"),
        (-90 * SECOND_MS, "−1 min 30 s"),
    ],
)
def test_durations(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms).replace("\N{NO-BREAK SPACE}", " ") == text


def test_moments_without_an_epoch_count_days_from_the_first() -> None:
    assert moment_text(0, 0) == "day 1, 00:00"
    assert moment_text(2 * DAY_MS + 4 * HOUR_MS, 0) == "day 3, 04:00"


def test_moments_with_an_epoch_are_dates_in_utc() -> None:
    assert moment_text(HOUR_MS, 1_714_564_740_000) == "2024-05-01 12:59 UTC"


def test_moments_beyond_the_calendar() -> None:
    assert moment_text(2**60, 1_714_564_740_000) == "9999-12-31 23:59 UTC"


def test_shares_and_counts() -> None:
    assert percent_text(0.4567) == "45.7\N{NO-BREAK SPACE}%"
    assert (counted(1, "job"), counted(1200, "job")) == ("1 job", "1,200 jobs")
