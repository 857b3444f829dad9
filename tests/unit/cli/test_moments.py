"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rota.cli.moments import Way, moment_ms
from rota.model.quantities import QuantityError
from rota.views.times import Clock

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
CLOCK = Clock(round(NOW.timestamp() * 1000), UTC)


def read(text: str, way: Way, clock: Clock = CLOCK) -> str:
    return datetime.fromtimestamp(moment_ms(text, clock, way) / 1000, UTC).isoformat()[:16]


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("now", "2026-11-16T12:30", "2026-11-16T12:30"),
        ("2h", "2026-11-16T10:30", "2026-11-16T14:30"),
        ("+2h", "2026-11-16T14:30", "2026-11-16T14:30"),
        ("-90m", "2026-11-16T11:00", "2026-11-16T11:00"),
        ("14:00", "2026-11-15T14:00", "2026-11-16T14:00"),
        ("09:15", "2026-11-16T09:15", "2026-11-17T09:15"),
        ("12:30", "2026-11-16T12:30", "2026-11-16T12:30"),
        ("today", "2026-11-16T00:00", "2026-11-16T00:00"),
        ("yesterday", "2026-11-15T00:00", "2026-11-15T00:00"),
        ("Yesterday 18:00", "2026-11-15T18:00", "2026-11-15T18:00"),
        ("tomorrow at 09:00", "2026-11-17T09:00", "2026-11-17T09:00"),
        ("2026-11-16", "2026-11-16T00:00", "2026-11-16T00:00"),
        ("2026-12-01 8:05", "2026-12-01T08:05", "2026-12-01T08:05"),
        ("2026-12-01T08:05", "2026-12-01T08:05", "2026-12-01T08:05"),
        ("2026-12-01T08:05:00+02:00", "2026-12-01T06:05", "2026-12-01T06:05"),
    ],
)
def test_each_way_to_write_a_time(text: str, past: str, future: str) -> None:
    assert (read(text, Way.PAST), read(text, Way.FUTURE)) == (past, future)


def test_what_names_no_zone_is_by_the_clock_on_the_wall() -> None:
    berlin = Clock(CLOCK.now_ms, ZoneInfo("Europe/Berlin"))
    assert read("2026-07-01 12:00", Way.FUTURE, berlin) == "2026-07-01T10:00"
    assert read("tomorrow", Way.FUTURE, berlin) == "2026-11-16T23:00"


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "2026-02-30", "+", "-", "yesterday 9"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(QuantityError):
        moment_ms(text, CLOCK, Way.PAST)
