"""What is a matter of time."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from rota.model.ids import JobId
from rota.model.verdict import POLICY, ROOM, Rule, TypedReason, Unblock, never, not_now


class TooEarly(TypedReason, frozen=True, tag="too early"):
    rule: ClassVar[Rule] = not_now("calendar", Unblock.TIME_PASSED)
    start_ms: int
    """It is not to start before."""


class PromisedLater(TypedReason, frozen=True, tag="promised"):
    """It was promised a start that is yet to come."""

    rule: ClassVar[Rule] = not_now("calendar", Unblock.TIME_PASSED)
    start_ms: int


class PeriodMissed(TypedReason, frozen=True, tag="period missed"):
    rule: ClassVar[Rule] = never("calendar", *POLICY, is_about_the_job=False)
    latest_ms: int


class SlaMissed(TypedReason, frozen=True, tag="sla missed"):
    rule: ClassVar[Rule] = never("calendar", *POLICY, is_about_the_job=False)
    within_ms: int
    """Of its submission."""


TOO_LATE = (SlaMissed, PeriodMissed)
"""Whatever happens now, it has missed its time."""


# -- what it would run into


class RoomPlanned(TypedReason, frozen=True, tag="calendar"):
    """There is room now, but it is kept for a start that is planned or promised."""

    rule: ClassVar[Rule] = not_now("calendar", Unblock.TIME_PASSED, *ROOM)
    job: JobId = JobId("")
    """Empty: it isn't known whose."""
    start_ms: int = 0
    """0: it isn't known when, or isn't to be told."""


class RoomReserved(TypedReason, frozen=True, tag="room reserved"):
    """It would run into a reservation of others."""

    rule: ClassVar[Rule] = not_now("reservation", Unblock.TIME_PASSED, *ROOM)
    reservation: str
    start_ms: int = 0


class MaintenanceAhead(TypedReason, frozen=True, tag="maintenance"):
    rule: ClassVar[Rule] = not_now("maintenance", Unblock.TIME_PASSED)
    window: str
    start_ms: int = 0


# -- the reservation that it is to run in


class ReservationTime(Enum):
    NOT_BEGUN = "not begun"
    OVER = "over"
    TOO_SHORT = "too short"
    """It ends before the job's time limit."""


class OutsideReservation(TypedReason, frozen=True, tag="reservation"):
    rule: ClassVar[Rule] = not_now("reservation", Unblock.TIME_PASSED, *ROOM)
    reservation: str
    time: ReservationTime
    at_ms: int
    """When it begins, where it hasn't yet; else when it ends."""


class NotReservedFor(TypedReason, frozen=True, tag="not reserved for"):
    rule: ClassVar[Rule] = never("reservation", *POLICY, is_about_the_job=False)
    reservation: str
    project: str
    user: str
