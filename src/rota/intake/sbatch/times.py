"""Slurm's ways to write times: limits, and moments for --begin and --deadline."""

import re
from datetime import datetime, time, timedelta

_LIMIT = re.compile(
    r"(?:(?P<days>\d{1,6})-(?P<day_hours>\d{1,4})(?::(?P<day_minutes>\d{1,4}))?(?::(?P<day_seconds>\d{1,4}))?"
    r"|(?P<first>\d{1,9})(?::(?P<second>\d{1,4}))?(?::(?P<third>\d{1,4}))?)",
    re.ASCII,
)
_UNLIMITED = ("unlimited", "infinite", "-1", "0")
_LATER = re.compile(r"now\s*\+\s*(?P<count>\d{1,9})\s*(?P<unit>[a-z]*)", re.ASCII)
_UNITS_S = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_CLOCK = re.compile(r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d))?\s*(?P<half>[ap]m)?", re.ASCII)
_NAMED_CLOCKS = {"midnight": time(0), "noon": time(12), "fika": time(15), "teatime": time(16)}
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})", re.ASCII),
    re.compile(r"(?P<m>\d{1,2})/(?P<d>\d{1,2})(?:/(?P<y>\d{2}))?", re.ASCII),
    re.compile(r"(?P<m>\d{1,2})\.(?P<d>\d{1,2})(?:\.(?P<y>\d{2}))?", re.ASCII),
    re.compile(r"(?P<m>\d{2})(?P<d>\d{2})(?P<y>\d{2})", re.ASCII),
)


def limit_seconds(text: str) -> int | None:
    """None: no limit. ValueError: it is no time limit.

    Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
    days-hours:minutes:seconds.
    """
    if text.lower() in _UNLIMITED:
        return None
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    if match["days"] is not None:
        hours, minutes, seconds = (int(match[f"day_{unit}"] or 0) for unit in ("hours", "minutes", "seconds"))
        return ((int(match["days"]) * 24 + hours) * 60 + minutes) * 60 + seconds
    first, second, third = (None if match[n] is None else int(match[n]) for n in ("first", "second", "third"))
    assert first is not None
    if third is not None:
        return (first * 60 + (second or 0)) * 60 + third
    return first * 60 + (second or 0)


def moment(text: str, now: datetime) -> datetime:
    """ValueError: it is no moment. A time of day that is past is meant for tomorrow."""
    words = text.strip().lower()
    if words == "now":
        return now
    if match := _LATER.fullmatch(words):
        return now + timedelta(seconds=int(match["count"]) * _unit_s(match["unit"]))
    for separator in ("t", " "):
        date_part, separator_found, clock_part = words.partition(separator)
        if separator_found and (day := _day(date_part, now)) is not None:
            return datetime.combine(day, _clock(clock_part), now.tzinfo)
    if words in ("today", "tomorrow"):
        return now + timedelta(days=words == "tomorrow")
    if (day := _day(words, now)) is not None:
        return datetime.combine(day, time(0), now.tzinfo)
    at = datetime.combine(now, _clock(words), now.tzinfo)
    return at if at >= now else at + timedelta(days=1)


def _unit_s(text: str) -> int:
    if not text:
        return 1
    for unit, seconds in _UNITS_S.items():
        if len(text) >= 3 and f"{unit}s".startswith(text):
            return seconds
    raise ValueError(text)


def _day(text: str, now: datetime) -> datetime | None:
    for pattern in _DATES:
        if match := pattern.fullmatch(text):
            fields = match.groupdict()
            year = int(fields["y"] or now.year)
            day = datetime(year + 2000 if year < 100 else year, int(fields["m"]), int(fields["d"]))
            is_past = not fields["y"] and day.date() < now.date()
            return day.replace(year=day.year + 1) if is_past else day
    return None


def _clock(text: str) -> time:
    if text in _NAMED_CLOCKS:
        return _NAMED_CLOCKS[text]
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hour = int(match["h"])
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(text)
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    return time(hour, int(match["m"]), int(match["s"] or 0))
