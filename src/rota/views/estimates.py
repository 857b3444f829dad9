"""Estimated starts as they are shown: of jobs that wait, learnt from past ones."""

from __future__ import annotations

from collections.abc import Collection

from rota.api.questions import StartEstimate
from rota.model.estimate import Estimate, NoStart
from rota.model.quantities import parse_timestamp_ms
from rota.views.times import Clock, utc_text

_MINUTE_MS = 60_000


def start_estimate(told: Estimate) -> StartEstimate:
    latest = None if told.latest_ms is None else utc_text(told.latest_ms)
    return StartEstimate(utc_text(told.expected_ms), utc_text(told.bound_ms), latest)


def estimate_of(start: StartEstimate, told: str) -> Estimate:
    """The estimate that `start_estimate` was made of; `told`: when."""
    latest_ms = None if start.latest is None else parse_timestamp_ms(start.latest)
    expected_ms, bound_ms = parse_timestamp_ms(start.expected), parse_timestamp_ms(start.bound)
    return Estimate(parse_timestamp_ms(told), expected_ms, bound_ms, latest_ms)


def expected_text(told: Collection[Estimate], clock: Clock) -> str:
    """`about 14:10`; of several jobs `about 14:10 to 16:40`."""
    first, last = (clock.text(_about_ms(pick(one.expected_ms for one in told), clock)) for pick in (min, max))
    return f"about {first}" if first == last else f"about {first} to {last}"


def away_text(told: Collection[Estimate], clock: Clock) -> str:
    """`in 2 h 05 min`: how far off the first is."""
    return clock.distance_text(_about_ms(min(one.expected_ms for one in told), clock))


def bound_text(told: Collection[Estimate], clock: Clock) -> str:
    """`by 19:30`; of several jobs the last of their bounds."""
    return f"by {clock.text(_minute_after(max(one.bound_ms for one in told)))}"


def latest_text(told: Collection[Estimate], clock: Clock) -> str:
    """`by limits alone 18:00`; empty where they don't tell of all."""
    latest = [one.latest_ms for one in told if one.latest_ms is not None]
    return f"by limits alone {clock.text(_minute_after(max(latest)))}" if len(latest) == len(told) else ""


def _about_ms(at_ms: int, clock: Clock) -> int:
    """The nearest minute that isn't over: nobody knows the seconds."""
    nearest_ms = (at_ms + _MINUTE_MS // 2) // _MINUTE_MS * _MINUTE_MS
    return nearest_ms if nearest_ms >= clock.now_ms else _minute_after(at_ms)


def _minute_after(at_ms: int) -> int:
    return -(-at_ms // _MINUTE_MS) * _MINUTE_MS


_NO_START = {
    NoStart.NEVER: "it can't start on this cluster as it is",
    NoStart.NOT_YET: "not worked out yet",
    NoStart.HELD: "it is held",
    NoStart.DEPENDENCY: "it waits for other jobs to end",
    NoStart.QUEUE: "no start is known: its queue is paused or closed",
    NoStart.QUOTA: "no start is known: a quota or limit is used up",
    NoStart.PARTNER: "no start is known: the job that it connects to hasn't started",
    NoStart.NODES: "no start is known: the nodes that would do are drained or not ready",
    NoStart.ENDLESS: "no start is known: what has its room, or goes first, has no time limit",
    NoStart.STARTED: "it has started",
    NoStart.OVER: "it is over",
}


def no_start_text(reason: NoStart) -> str:
    return _NO_START[reason]
