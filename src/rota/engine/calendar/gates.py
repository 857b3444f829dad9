"""What keeps a job back whatever room there is: its queue, its period, its reservation."""

from __future__ import annotations

from rota.engine.calendar.durations import limit_ms
from rota.model.calendar import QueueMode, QueueState, Reservation
from rota.model.cluster import Calendar
from rota.model.job import Job
from rota.model.reasons import (
    NotReservedFor,
    OutsideReservation,
    PeriodMissed,
    QueueClosed,
    QueuePaused,
    ReservationTime,
    SlaMissed,
    TooEarly,
)
from rota.model.verdict import Reason


class Gates:
    def __init__(self, calendar: Calendar, now_ms: int) -> None:
        self._now_ms = now_ms
        self._queues: dict[str, QueueState] = {state.name: state for state in calendar.queues}
        self._reservations = {one.name: one for one in calendar.reservations}

    def closed_since_ms(self, queue: str) -> int | None:
        """Since when the queue takes no jobs; None: it does."""
        state = self._queues.get(queue)
        return state.since_ms if state is not None and state.mode is QueueMode.CLOSED else None

    def closed_to(self, job: Job) -> Reason | None:
        """Why the job can't start now."""
        return self._late(job) or self._queue(job) or self._early(job) or self._reserved(job)

    def _late(self, job: Job) -> Reason | None:
        within = job.template.start_within_ms
        if within is not None and self._now_ms > job.submitted_ms + within:
            return SlaMissed(within)
        before = job.start_before_ms
        if before is not None and self._now_ms > before:
            return PeriodMissed(before)
        return None

    def _queue(self, job: Job) -> Reason | None:
        state = self._queues.get(job.template.queue)
        if state is None:
            return None
        if state.mode is QueueMode.PAUSED:
            return QueuePaused(state.name, state.message)
        if state.mode is QueueMode.CLOSED and job.submitted_ms >= state.since_ms:
            return QueueClosed(state.name, state.message)
        return None

    def _early(self, job: Job) -> Reason | None:
        if job.start_after_ms > self._now_ms:
            return TooEarly(job.start_after_ms)
        return None

    def _reserved(self, job: Job) -> Reason | None:
        template = job.template
        if not template.reservation:
            return None
        one = self._reservations.get(template.reservation)
        if one is None or not one.is_for(template.project, template.user):
            return NotReservedFor(template.reservation, template.project, template.user)
        return _outside_of(one, self._now_ms, limit_ms(template))


def _outside_of(reservation: Reservation, now_ms: int, length_ms: int) -> Reason | None:
    if now_ms < reservation.start_ms:
        return OutsideReservation(reservation.name, ReservationTime.NOT_BEGUN, reservation.start_ms)
    if now_ms >= reservation.end_ms:
        return OutsideReservation(reservation.name, ReservationTime.OVER, reservation.end_ms)
    if now_ms + length_ms > reservation.end_ms:
        return OutsideReservation(reservation.name, ReservationTime.TOO_SHORT, reservation.end_ms)
    return None


def latest_start_ms(job: Job) -> int | None:
    """By its period and by how soon it must start; None: any time will do."""
    within = job.template.start_within_ms
    latest = [
        moment
        for moment in (job.start_before_ms, None if within is None else job.submitted_ms + within)
        if moment is not None
    ]
    return min(latest, default=None)
