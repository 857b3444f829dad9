"""A job gets room, or a promise of it, or more time."""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from rota.lifecycle.events import Bound, LimitChanged, Promised, Seat
from rota.lifecycle.instructions import ChangeLimit, StartTask
from rota.lifecycle.live import known_rank
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase

_RANK = attrgetter("rank")


def bound(state: JobState, event: Bound, at_ms: int) -> Advanced:
    seats = event.seats
    _may_have_room(state)
    _ranks_wait(state, seats)
    _run_together(state, seats)
    fence = max(state.fence, event.fences_above)
    live, starts = [], []
    for seat in seats:
        fence += 1
        phase = TaskPhase.STANDBY if seat.standby else TaskPhase.BOUND
        live.append(
            LiveTask(
                seat.rank,
                fence,
                seat.node,
                phase,
                bound_ms=at_ms,
                gpu_devices=seat.gpu_devices,
                roomless=seat.standby,
            )
        )
        starts.append(StartTask(state.id, seat.rank, fence, seat.node, seat.gpu_devices, seat.standby))
    if state.live or len(live) > 1:
        live = sorted((*state.live, *live), key=_RANK)
    was_pending = state.phase is Phase.PENDING
    return Advanced(
        replace(
            state,
            phase=Phase.SCHEDULED if was_pending else state.phase,
            changed_ms=at_ms if was_pending else state.changed_ms,
            cause=None,
            message="",
            live=tuple(live),
            fence=fence,
            promise=None,
        ),
        tuple(starts),
    )


def promised(state: JobState, event: Promised) -> Advanced:
    _may_have_room(state)
    return Advanced(replace(state, promise=event.promise))


def limit_changed(state: JobState, event: LimitChanged) -> Advanced:
    limit_ms = event.time_limit_ms
    if limit_ms <= 0:
        raise Refused(Objection.NO_LIMIT, f"a time limit of {limit_ms} ms is none: state one above 0")
    _goes_on(state)
    changes = tuple(
        ChangeLimit(state.id, task.rank, task.fence, task.node, limit_ms)
        for task in state.live
        if task.phase is not TaskPhase.STOPPING
    )
    return Advanced(replace(state, time_limit_ms=limit_ms), changes)


def _may_have_room(state: JobState) -> None:
    if state.phase is Phase.CREATED:
        raise Refused(
            Objection.NOT_PENDING, f"job {state.id} is held, or waits for others: it may not start yet"
        )
    _goes_on(state)


def _goes_on(state: JobState) -> None:
    if state.is_stopping:
        raise Refused(Objection.STOPPING, f"job {state.id} is about to stop")


def _ranks_wait(state: JobState, seats: tuple[Seat, ...]) -> None:
    if not seats:
        raise Refused(Objection.NO_SEATS, f"no seats for job {state.id}")
    taken = {task.rank for task in state.live}.union(state.done)
    for seat in seats:
        known_rank(state, seat.rank)
        if seat.rank in taken:
            raise Refused(
                Objection.NOT_WAITING, f"task {seat.rank} of job {state.id} runs, is done, or was named twice"
            )
        taken.add(seat.rank)


def _run_together(state: JobState, seats: tuple[Seat, ...]) -> None:
    """Counts as the engine does: ranks that are done, and whatever holds room."""
    needed = state.spec.template.min_count
    if needed <= 1:
        return
    if any(seat.standby for seat in seats):
        raise Refused(
            Objection.NOT_ALONE, f"{needed} tasks of job {state.id} must run together: none can stand by"
        )
    together = len(state.done) + len(state.live) + len(seats)
    if together < needed:
        raise Refused(
            Objection.TOO_FEW, f"{needed} tasks of job {state.id} must run together, not {together}"
        )
