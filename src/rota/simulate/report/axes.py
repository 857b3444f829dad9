"""Axes: from values to places between 0 and 1, with ticks where people expect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, floor, log10

from rota.simulate.words import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, clock_text, day_text, utc

_STEPS_MS = (
    *(seconds * SECOND_MS for seconds in (1, 2, 5, 10, 15, 30)),
    *(minutes * MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR_MS for hours in (1, 2, 3, 6, 12)),
    *(days * DAY_MS for days in (1, 2, 3, 5, 7, 14, 30, 60, 100)),
)
_MONTHS = (1, 2, 3, 6, 12)
_MONDAY_MS = 4 * DAY_MS
"""1970 began on a Thursday."""
_LOG_TICKS = (
    (SECOND_MS, "1 s"),
    (10 * SECOND_MS, "10 s"),
    (MINUTE_MS, "1 min"),
    (10 * MINUTE_MS, "10 min"),
    (HOUR_MS, "1 h"),
    (6 * HOUR_MS, "6 h"),
    (DAY_MS, "1 d"),
    (7 * DAY_MS, "7 d"),
    (30 * DAY_MS, "30 d"),
    (365 * DAY_MS, "1 y"),
    (3650 * DAY_MS, "10 y"),
)
_SIGNED_TICKS = _LOG_TICKS[2:]
_MOST_SIGNED_TICKS = 4
"""To either side."""


@dataclass(frozen=True)
class Tick:
    value: float
    label: str
    second_line: str = ""


def _itself(value: float) -> float:
    return value


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    ticks: tuple[Tick, ...]
    warp: Callable[[float], float] = _itself

    def place(self, value: float) -> float:
        """Between 0 and 1; what lies beyond an end is drawn at it."""
        low, high = self.warp(self.low), self.warp(self.high)
        place = (self.warp(max(self.low, min(self.high, value))) - low) / (high - low)
        return max(0.0, min(1.0, place))


def count_axis(largest: float) -> Axis:
    step = _round_step(max(largest, 1) / 4)
    ticks = ceil(max(largest, 1) / step) + 1
    return Axis(0, step * (ticks - 1), tuple(Tick(n * step, f"{n * step:,}") for n in range(ticks)))


def percent_axis(low: int = 0) -> Axis:
    """Of shares between 0 and 1; `low` in percent, a multiple of ten."""
    step = 25 if low == 0 else 10 if low <= 70 else 5
    return Axis(low / 100, 1, tuple(Tick(p / 100, f"{p} %") for p in range(low, 101, step)))


def moment_axis(low_ms: float, high_ms: float, epoch_ms: int, most_ticks: int = 7) -> Axis:
    high_ms = max(high_ms, low_ms + SECOND_MS)
    return Axis(low_ms, high_ms, tuple(_moment_ticks(low_ms, high_ms, epoch_ms, most_ticks)))


def log_axis(longest_ms: float, shortest_ms: int = SECOND_MS) -> Axis:
    """Durations; shorter ones are drawn at the left end."""
    ticks = [one for one in _LOG_TICKS if one[0] >= shortest_ms]
    wanted = sum(value < longest_ms for value, _ in ticks)
    shown = ticks[: max(4, wanted + 1)]
    labelled = tuple(Tick(value, label) for value, label in shown)
    return Axis(shown[0][0], shown[-1][0], labelled, log10)


def signed_axis(largest_ms: float) -> Axis:
    """Errors: even steps up to about a minute, then ever larger ones to either side."""
    wanted = sum(value < largest_ms for value, _ in _SIGNED_TICKS)
    shown = _SIGNED_TICKS[: max(2, wanted + 1)]
    # Where the axis reaches far, the first ones stand too close to 0 to be read.
    shown = shown[max(0, len(shown) - _MOST_SIGNED_TICKS) :]
    ticks = (
        *(Tick(-value, f"−{label}") for value, label in reversed(shown)),
        Tick(0, "0"),
        *(Tick(value, f"+{label}") for value, label in shown),
    )
    return Axis(-shown[-1][0], shown[-1][0], ticks, _signed_log)


def round_duration_ms(at_least_ms: float) -> int:
    """The next duration that people find round."""
    found = next((step for step in _STEPS_MS if step >= at_least_ms), None)
    return found or ceil(at_least_ms / (100 * DAY_MS)) * 100 * DAY_MS


def _signed_log(value_ms: float) -> float:
    distance = log10(1 + abs(value_ms) / MINUTE_MS)
    return distance if value_ms >= 0 else -distance


def _round_step(at_least: float) -> int:
    """A whole number: one, two or five with zeros."""
    scale = 10 ** max(0, floor(log10(at_least)))
    return int(next(factor * scale for factor in (1, 2, 5, 10) if factor * scale >= at_least))


def _moment_ticks(low_ms: float, high_ms: float, epoch_ms: int, most: int) -> Iterator[Tick]:
    step_ms = round_duration_ms((high_ms - low_ms) / most)
    if epoch_ms and step_ms > 14 * DAY_MS:
        yield from _month_ticks(low_ms, high_ms, epoch_ms, most)
        return
    origin_ms = _MONDAY_MS if epoch_ms and step_ms % (7 * DAY_MS) == 0 else 0
    first = ceil((low_ms + epoch_ms - origin_ms) / step_ms)
    last = floor((high_ms + epoch_ms - origin_ms) / step_ms)
    before = ""
    for number in range(first, last + 1):
        value_ms = number * step_ms + origin_ms - epoch_ms
        label, second_line = _moment_label(value_ms, epoch_ms, step_ms)
        yield Tick(value_ms, label, second_line if second_line != before else "")
        before = second_line


def _moment_label(value_ms: int, epoch_ms: int, step_ms: int) -> tuple[str, str]:
    """The finer part, and the coarser one, which is written where it changes."""
    moment = utc(epoch_ms + value_ms)
    date = f"{moment.day} {moment:%b}"
    if step_ms < DAY_MS:
        clock = clock_text(epoch_ms + value_ms, with_seconds=step_ms < MINUTE_MS)
        return clock, date if epoch_ms else day_text(value_ms)
    return (date, f"{moment:%Y}") if epoch_ms else (day_text(value_ms), "")


def _month_ticks(low_ms: float, high_ms: float, epoch_ms: int, most: int) -> Iterator[Tick]:
    first, last = utc(epoch_ms + low_ms), utc(epoch_ms + high_ms)
    months = (last.year - first.year) * 12 + last.month - first.month
    step = next((step for step in _MONTHS if months <= step * most), None)
    step = step or ceil(months / most / 12) * 12
    before = ""
    for month in _months(first, last, step):
        value_ms = (month - utc(epoch_ms)) / timedelta(milliseconds=1)
        if not low_ms <= value_ms <= high_ms:
            continue
        year = f"{month:%Y}"
        label = year if step % 12 == 0 else f"{month:%b}"
        yield Tick(value_ms, label, year if year != before and label != year else "")
        before = year


def _months(first: datetime, last: datetime, step: int) -> Sequence[datetime]:
    numbers = range(first.year * 12, last.year * 12 + last.month, step)
    start = first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return [start.replace(year=number // 12, month=number % 12 + 1) for number in numbers]
