"""Words for reasons that are a matter of time: of the calendar, and of queues that were stopped."""

from __future__ import annotations

from rota.model.quantities import format_duration
from rota.model.reasons import (
    MaintenanceAhead,
    NotReservedFor,
    OutsideReservation,
    PeriodMissed,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    ReservationTime,
    RoomPlanned,
    RoomReserved,
    SlaMissed,
    TooEarly,
)
from rota.model.verdict import Reason
from rota.views.quoting import one_line
from rota.views.saying import ReasonWords, said_with_times
from rota.views.times import TimeText


def _stopped(queue: str, state: str, message: str) -> str:
    why = one_line(message)
    return f"queue {queue} is {state}" + (f": {why}" if why else "")


def _planned(reason: RoomPlanned, when: TimeText) -> str:
    if reason.job:
        planned = f", planned for {when(reason.start_ms)}" if reason.start_ms else ""
        return f"room kept for {reason.job}{planned}"
    return f"room kept for what is planned{_from(reason.start_ms, when)}"


def _outside(reason: OutsideReservation, when: TimeText) -> str:
    at = when(reason.at_ms)
    match reason.time:
        case ReservationTime.NOT_BEGUN:
            return f"reservation {reason.reservation} begins at {at}"
        case ReservationTime.OVER:
            return f"reservation {reason.reservation} ended at {at}"
        case ReservationTime.TOO_SHORT:
            return f"reservation {reason.reservation} ends at {at}, before the job's time limit"


def _reserved(reason: RoomReserved, when: TimeText) -> str:
    return f"room kept for reservation {reason.reservation}{_from(reason.start_ms, when)}"


def _not_for(reason: NotReservedFor, _: TimeText) -> str:
    return f"reservation {reason.reservation} is not for {reason.project}/{reason.user}"


def _from(start_ms: int, when: TimeText) -> str:
    return f" from {when(start_ms)} on" if start_ms else ""


CALENDAR_REASONS: ReasonWords = dict(
    (
        said_with_times(QueuePaused, lambda r, _: _stopped(r.queue, "paused", r.message)),
        said_with_times(QueueClosed, lambda r, _: _stopped(r.queue, "closed", r.message)),
        said_with_times(RoomPlanned, _planned),
        said_with_times(TooEarly, lambda r, when: f"not to start before {when(r.start_ms)}"),
        said_with_times(PromisedLater, lambda r, when: f"promised to start at {when(r.start_ms)}"),
        said_with_times(
            PeriodMissed, lambda r, when: f"can't start by {when(r.latest_ms)}, its latest start"
        ),
        said_with_times(
            SlaMissed, lambda r, _: f"not started within {format_duration(r.within_ms)} of its submission"
        ),
        said_with_times(OutsideReservation, _outside),
        said_with_times(RoomReserved, _reserved),
        said_with_times(NotReservedFor, _not_for),
        said_with_times(MaintenanceAhead, lambda r, when: f"maintenance {r.window}{_from(r.start_ms, when)}"),
    )
)

CALENDAR_PASSING: dict[type[Reason], str] = {
    QueuePaused: "until the queue is opened",
    QueueClosed: "until the queue is opened",
    PeriodMissed: "never, unless it may start later",
    SlaMissed: "never: it has failed",
    NotReservedFor: "never, unless the reservation names its tenant",
}
"""Whether they can pass, where the events of their rule would say it badly."""
