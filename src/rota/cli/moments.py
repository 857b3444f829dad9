"""Times as people write them: `14:00`, `yesterday`, `tomorrow 09:00`, `2026-11-16`, `+2h`. One reader for all
options that take a time. What names no zone is by the clock on the wall."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from enum import Enum

from rota.model.quantities import QuantityError, parse_duration_ms, parse_timestamp_ms
from rota.views.times import Clock

_OF_DAY = r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
_TIME = re.compile(_OF_DAY, re.ASCII)
_DAY = re.compile(
    rf"(?P<day>today|yesterday|tomorrow|\d{{4}}-\d\d-\d\d)(?:(?:[ T]|\s+at\s+){_OF_DAY})?",
    re.ASCII | re.IGNORECASE,
)
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
EXAMPLES = "write it like 14:00, yesterday, tomorrow 09:00, 2026-05-01, 2026-05-01T12:00:00Z or 2h"


class Way(Enum):
    """What a duration, or a time of the day, stands for."""

    PAST = "ago"
    FUTURE = "from now"


def moment_ms(text: str, clock: Clock, way: Way) -> int:
    """Milliseconds since 1970. Raises QuantityError."""
    words = " ".join(text.split())
    if words.lower() == "now":
        return clock.now_ms
    if match := _TIME.fullmatch(words):
        return _of_day(match, clock, way)
    if match := _DAY.fullmatch(words):
        return _of_date(match, clock)
    if words[:1] in "+-" and words[1:]:
        distance_ms = parse_duration_ms(words[1:])
        return max(0, clock.now_ms + (distance_ms if words[0] == "+" else -distance_ms))
    try:
        distance_ms = parse_duration_ms(words)
    except QuantityError:
        return _timestamp_ms(words)
    return max(0, clock.now_ms + (distance_ms if way is Way.FUTURE else -distance_ms))


def _of_day(match: re.Match[str], clock: Clock, way: Way) -> int:
    """The next time that a clock shows this, or the last."""
    today = clock.local(clock.now_ms).date()
    days = (0, 1) if way is Way.FUTURE else (0, -1)
    for offset in days:
        at_ms = _ms_at(today + timedelta(days=offset), _time_of(match), clock)
        if (at_ms >= clock.now_ms) == (way is Way.FUTURE) or at_ms == clock.now_ms:
            return at_ms
    return at_ms


def _of_date(match: re.Match[str], clock: Clock) -> int:
    day = match["day"].lower()
    if day in _DAYS:
        when = clock.local(clock.now_ms).date() + timedelta(days=_DAYS[day])
    else:
        try:
            when = date.fromisoformat(day)
        except ValueError:
            raise QuantityError(f'there is no day "{day}"', EXAMPLES) from None
    return _ms_at(when, _time_of(match), clock)


def _timestamp_ms(text: str) -> int:
    try:
        return parse_timestamp_ms(text)
    except QuantityError as error:
        raise QuantityError(error.problem, EXAMPLES) from None


def _time_of(match: re.Match[str]) -> time:
    return time(int(match["hour"] or 0), int(match["minute"] or 0), int(match["second"] or 0))


def _ms_at(day: date, at: time, clock: Clock) -> int:
    """Without a zone, Python takes that of the machine."""
    return max(0, round(datetime.combine(day, at, clock.zone).timestamp() * 1000))
