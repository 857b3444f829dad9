"""Words for reasons that are a matter of time: of the calendar, and of queues that were stopped."""

from __future__ import annotations

from collections.abc import Callable

from rota.model.quantities import format_duration
from rota.model.verdict import Code, Reason
from rota.views.quoting import one_line
from rota.views.times import TimeText


def _stopped(state: str) -> Callable[[Reason, TimeText], str]:
    def text(reason: Reason, _: TimeText) -> str:
        message = one_line(reason.detail)
        return f"queue {reason.subject} is {state}" + (f": {message}" if message else "")

    return text


def _calendar(reason: Reason, when: TimeText) -> str:
    if reason.subject:
        planned = f", planned for {when(reason.asked)}" if reason.asked else ""
        return f"room kept for {reason.subject}{planned}"
    return f"room kept for what is planned{_from(reason, when)}"


def _reservation(reason: Reason, when: TimeText) -> str:
    """Of the one that the job is to run in, if there is a detail; else of one that it would run into."""
    at = when(reason.asked)
    match reason.detail:
        case "not begun":
            return f"reservation {reason.subject} begins at {at}"
        case "over":
            return f"reservation {reason.subject} ended at {at}"
        case "ends before the job":
            return f"reservation {reason.subject} ends at {at}, before the job's time limit"
        case _:
            return f"room kept for reservation {reason.subject}{_from(reason, when)}"


def _from(reason: Reason, when: TimeText) -> str:
    return f" from {when(reason.asked)} on" if reason.asked else ""


CALENDAR_REASONS: dict[Code, Callable[[Reason, TimeText], str]] = {
    Code.QUEUE_PAUSED: _stopped("paused"),
    Code.QUEUE_CLOSED: _stopped("closed"),
    Code.CALENDAR: _calendar,
    Code.TOO_EARLY: lambda r, when: f"not to start before {when(r.asked)}",
    Code.PROMISED: lambda r, when: f"promised to start at {when(r.asked)}",
    Code.PERIOD_MISSED: lambda r, when: f"can't start by {when(r.asked)}, its latest start",
    Code.SLA_MISSED: lambda r, _: f"not started within {format_duration(r.asked)} of its submission",
    Code.RESERVATION: _reservation,
    Code.NOT_RESERVED_FOR: lambda r, _: f"reservation {r.subject} is not for {r.detail}",
    Code.MAINTENANCE: lambda r, when: f"maintenance {r.subject}{_from(r, when)}",
    Code.EVICTED_FOR_MAINTENANCE: lambda r, _: "evicted for maintenance",
}

CALENDAR_PASSING = {
    Code.QUEUE_PAUSED: "until the queue is opened",
    Code.QUEUE_CLOSED: "until the queue is opened",
    Code.PERIOD_MISSED: "never, unless it may start later",
    Code.SLA_MISSED: "never: it has failed",
    Code.NOT_RESERVED_FOR: "never, unless the reservation names its tenant",
}
"""Whether they can pass, where the events of their rule would say it badly."""
