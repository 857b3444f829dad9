"""The estimated start of a job as one line."""

from __future__ import annotations

from rota.api.jobs import EstimateDocument
from rota.views.amounts import count_text
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of


def estimate_text(estimate: EstimateDocument | None, clock: Clock) -> str:
    """`3 jobs ahead; expected about 14:10, in 5 min; in nine of ten cases by 14:30`."""
    if estimate is None:
        return ""
    parts = [position_text(estimate.position)]
    if estimate.expected is not None:
        at_ms = ms_of(estimate.expected)
        how = "promised for" if estimate.promised else "expected about"
        parts.append(f"{how} {_minute(at_ms, clock)}, {clock.distance_text(max(at_ms, clock.now_ms))}")
    if estimate.bound is not None and not estimate.promised:
        parts.append(f"in nine of ten cases by {_minute(ms_of(estimate.bound), clock)}")
    if estimate.expected is None and estimate.latest is not None:
        parts.append(f"by limits alone {_minute(ms_of(estimate.latest), clock)}")
    if estimate.reason:
        parts.append(one_line(estimate.reason))
    return "; ".join(filter(None, parts))


def position_text(position: int | None) -> str:
    if position is None:
        return ""
    return "next in its queue" if position == 0 else f"{count_text(position, 'job')} ahead"


def _minute(at_ms: int, clock: Clock) -> str:
    """A start that is minutes away isn't known to the second."""
    return clock.text(at_ms if at_ms - clock.now_ms < 120_000 else -(-at_ms // 60_000) * 60_000)
