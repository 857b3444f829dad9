"""Moments and spans read right: near and far, across midnight and changes of clocks."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.views.times import Clock, span_text, utc_text

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("zone", "now", "then", "text"),
    [
        (UTC, "2026-01-01T08:00:00Z", "2026-01-01T14:05:00Z", "14:05"),
        (UTC, "2026-01-01T08:00:00Z", "2026-01-01T08:00:00Z", "08:00"),
        (UTC, "2026-01-01T08:00:00Z", "2026-01-01T14:05:09Z", "14:05:09"),
        (UTC, "2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z", "2026-01-02 00:00"),
        (UTC, "2026-01-01T08:00:00Z", "2025-12-31T08:00:00Z", "2025-12-31 08:00"),
        # The day is that of the place, not that of UTC.
        (BERLIN, "2026-01-01T22:30:00Z", "2026-01-01T22:59:00Z", "23:59"),
        (BERLIN, "2026-01-01T22:30:00Z", "2026-01-01T23:00:00Z", "2026-01-02 00:00"),
        (KATHMANDU, "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "14:45"),
    ],
)
def test_a_moment(zone: tzinfo, now: str, then: str, text: str) -> None:
    assert Clock(ms(now), zone).text(ms(then)) == text


@pytest.mark.covers("time-1")
@pytest.mark.parametrize(
    ("zone", "now", "then", "text"),
    [
        # Clocks go from 2:00 to 3:00.
        (BERLIN, "2026-03-29T00:30:00+01:00", "2026-03-29T01:59:59+01:00", "01:59:59"),
        (BERLIN, "2026-03-29T00:30:00+01:00", "2026-03-29T03:00:00+02:00", "03:00 +02:00"),
        (BERLIN, "2026-03-28T12:00:00+01:00", "2026-03-29T08:00:00+02:00", "2026-03-29 08:00 +02:00"),
        (BERLIN, "2026-03-29T03:00:00+02:00", "2026-03-29T08:00:00+02:00", "08:00"),
        # Clocks go from 3:00 to 2:00: half past two comes twice.
        (BERLIN, "2026-10-25T00:30:00+02:00", "2026-10-25T02:30:00+02:00", "02:30"),
        (BERLIN, "2026-10-25T00:30:00+02:00", "2026-10-25T02:30:00+01:00", "02:30 +01:00"),
        (BERLIN, "2026-10-25T02:45:00+01:00", "2026-10-25T02:30:00+02:00", "02:30 +02:00"),
        (NEW_YORK, "2026-10-31T12:00:00-04:00", "2026-11-01T12:00:00-05:00", "2026-11-01 12:00 -05:00"),
        # They have changed twice by then: nothing to mind.
        (BERLIN, "2026-01-01T12:00:00+01:00", "2027-01-01T12:00:00+01:00", "2027-01-01 12:00"),
    ],
)
def test_a_moment_after_the_clocks_have_changed(zone: tzinfo, now: str, then: str, text: str) -> None:
    assert Clock(ms(now), zone).text(ms(then)) == text


@pytest.mark.parametrize(
    ("away_ms", "text"),
    [
        (0, "now"),
        (999, "now"),
        (-999, "now"),
        (SECOND, "in 1 s"),
        (40 * SECOND, "in 40 s"),
        (MINUTE, "in 1 min"),
        (65 * SECOND, "in 1 min 05 s"),
        (HOUR - 1, "in 59 min 59 s"),
        (HOUR, "in 1 h"),
        (2 * HOUR + 5 * MINUTE, "in 2 h 05 min"),
        (2 * HOUR + 59 * SECOND, "in 2 h"),
        (DAY - 1, "in 23 h 59 min"),
        (3 * DAY + 4 * HOUR, "in 3 d 04 h"),
        (4000 * DAY, "in 4,000 d"),
        (-3 * MINUTE, "3 min ago"),
    ],
)
def test_how_far_off(away_ms: int, text: str) -> None:
    assert Clock(DAY, UTC).distance_text(DAY + away_ms) == text


def test_an_hour_is_an_hour_when_clocks_change() -> None:
    clock = Clock(ms("2026-03-29T01:30:00+01:00"), BERLIN)
    assert clock.distance_text(ms("2026-03-29T03:30:00+02:00")) == "in 1 h"


def test_in_data_times_are_in_utc() -> None:
    assert utc_text(ms("2026-03-29T03:00:00+02:00")) == "2026-03-29T01:00:00Z"


@pytest.mark.parametrize("zone", [UTC, KATHMANDU, NEW_YORK, None])
def test_limits_without_end_have_words_too(zone: tzinfo | None) -> None:
    last = ms("9999-12-31T23:59:59Z")
    for at_ms in (last, last + SECOND, 1 << 60, 1 << 62):
        assert Clock(0, zone).text(at_ms) == "the year 9999 or later"
        assert utc_text(at_ms) == "9999-12-31T00:00:00Z"
    assert Clock(last, zone).text(0).startswith("19")


@given(
    st.integers(0, 1 << 61),
    st.integers(0, 1 << 61),
    st.sampled_from([UTC, BERLIN, NEW_YORK, KATHMANDU, None]),
)
def test_every_moment_has_words(now_ms: int, at_ms: int, zone: tzinfo | None) -> None:
    clock = Clock(now_ms, zone)
    assert clock.text(at_ms)
    assert clock.distance_text(at_ms)


@given(st.integers(0, 400 * DAY))
def test_a_span_is_rounded_down_to_its_second_unit(span_ms: int) -> None:
    units = {"d": DAY, "h": HOUR, "min": MINUTE, "s": SECOND}
    words = span_text(span_ms).replace(",", "").split()
    shown_ms = sum(int(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True))
    assert 0 <= span_ms - shown_ms < HOUR
    assert len(words) <= 4


def test_the_zone_is_that_of_the_machine() -> None:
    code = "from rota.views.times import Clock; print(Clock(0).text(3_600_000))"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TZ": "Asia/Kathmandu"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "06:30"
