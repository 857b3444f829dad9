"""Moments and spans as people read them: by the clock on their wall, and how far off.

Data is in UTC throughout. Tables show local time, and where the clocks will have changed by then, the offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from rota.model.quantities import format_timestamp

TimeText = Callable[[int], str]
"""How a moment is written."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_DAY_MS = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""Moments from then on have no date in every zone: limits may be of any length."""
_UNITS = (("d", 86_400, 1), ("h", 3600, 2), ("min", 60, 2), ("s", 1, 2))
"""Each with its seconds, and the digits that it has after a larger unit."""


def utc_text(at_ms: int) -> str:
    """As in data: RFC 3339 in UTC. What lies after the last day that has a date is put on that day."""
    return format_timestamp(min(at_ms, _LAST_DAY_MS))


def ms_of(moment: datetime) -> int:
    """Of a time in a document."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


@dataclass(frozen=True)
class Clock:
    """What time it is, and where."""

    now_ms: int
    zone: tzinfo | None = None
    """None: that of the machine."""

    def text(self, at_ms: int) -> str:
        """`14:05`; on another day `2026-03-29 14:05`; after a change of clocks `14:05 +02:00`."""
        if at_ms >= _LAST_DAY_MS:
            return "the year 9999 or later"
        now, then = self.local(self.now_ms), self.local(at_ms)
        text = f"{then:%H:%M:%S}" if then.second else f"{then:%H:%M}"
        if then.date() != now.date():
            text = f"{then.date().isoformat()} {text}"
        return text if then.utcoffset() == now.utcoffset() else f"{text} {_offset_text(then)}"

    def distance_text(self, at_ms: int) -> str:
        """`in 2 h 05 min`, `now`, `3 min ago`."""
        away_ms = at_ms - self.now_ms
        if abs(away_ms) < 1000:
            return "now"
        return f"in {span_text(away_ms)}" if away_ms > 0 else f"{span_text(-away_ms)} ago"

    def local(self, at_ms: int) -> datetime:
        """As the clock on the wall shows it."""
        return (_EPOCH + timedelta(milliseconds=min(at_ms, _LAST_DAY_MS))).astimezone(self.zone)


def span_text(span_ms: int) -> str:
    """The two largest units, rounded down: `2 h 05 min`, `3 d`, `40 s`."""
    rest = span_ms // 1000
    parts: list[str] = []
    for unit, seconds, digits in _UNITS:
        count, rest = divmod(rest, seconds)
        if parts:
            return f"{parts[0]} {count:0{digits}} {unit}" if count else parts[0]
        if count:
            parts.append(f"{count:,} {unit}")
    return parts[0] if parts else "0 s"


def _offset_text(moment: datetime) -> str:
    """`+02:00`, in full minutes, as every zone of our days has them."""
    text = f"{moment:%z}"
    return f"{text[:3]}:{text[3:5]}"
