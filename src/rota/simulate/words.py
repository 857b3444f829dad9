"""Shares, counts, durations and moments as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_GAP = "\N{NO-BREAK SPACE}"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))


def percent_text(share: float) -> str:
    return f"{100 * share:.1f}{_GAP}%"


def count_text(count: float) -> str:
    return f"{count:,.0f}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration_text(duration_ms: float) -> str:
    """The two largest units say enough: `2 d 4 h`, `12 min 30 s`, `45 s`, `0.25 s`."""
    if duration_ms < 0:
        return f"−{duration_text(-duration_ms)}"
    if duration_ms < 10 * SECOND_MS:
        return f"{duration_ms / SECOND_MS:.3g}{_GAP}s"
    smallest_ms = next(
        (small for (large, _), (small, _) in pairwise(_UNITS) if duration_ms >= large),
        SECOND_MS,
    )
    rest_ms = round(duration_ms / smallest_ms) * smallest_ms
    parts = []
    for unit_ms, unit in _UNITS:
        count, rest_ms = divmod(rest_ms, unit_ms)
        if count:
            parts.append(f"{count:,}{_GAP}{unit}")
    return _GAP.join(parts)


def utc(time_ms: float) -> datetime:
    """Since 1970; the far end of the calendar for what is beyond it."""
    try:
        return _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def moment_text(time_ms: float, epoch_ms: int) -> str:
    """`2024-05-03 04:00 UTC`, or `day 3, 04:00`, day 1 being the workload's first, where it has no epoch."""
    if epoch_ms:
        return f"{utc(epoch_ms + time_ms):%Y-%m-%d %H:%M} UTC"
    return f"{day_text(time_ms)}, {clock_text(time_ms)}"


def day_text(time_ms: float) -> str:
    return f"day {int(time_ms // DAY_MS) + 1:,}"


def clock_text(time_ms: float, with_seconds: bool = False) -> str:
    hours, rest_ms = divmod(int(time_ms) % DAY_MS, HOUR_MS)
    minutes, rest_ms = divmod(rest_ms, MINUTE_MS)
    seconds = f":{rest_ms // SECOND_MS:02}" if with_seconds else ""
    return f"{hours:02}:{minutes:02}{seconds}"
