"""Commands of controllers, as changes of the jobs that their actions are."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from rota.control.draft import Draft
from rota.lifecycle.advance import submitted
from rota.lifecycle.events import CancelAsked
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.model.ids import JobId
from rota.stateless_scheduler.actions import Action, Place
from rota.stateless_scheduler.intake import Asked

Command = tuple[JobId, Callable[[Draft], object]]


def adopting(action: Action, asked: Asked) -> Command:
    """The action is a job from now on, of the number that it has now."""
    number = action.number

    def command(draft: Draft) -> None:
        before = draft.job(action.job)
        least_fence = 0 if before is None else before.fence
        state = adopted(action.job, number, asked, least_fence, draft.now_ms)
        draft.adopt(state, action.controller)

    return action.job, command


def cancelling(action: Action, message: str) -> Command:
    event = CancelAsked(action.controller, message)

    def command(draft: Draft) -> object:
        return draft.change(action.job, event, by=action.controller)

    return action.job, command


def giving_up(action: Action, why: str) -> Command:
    """Unless its controller has named it again by then."""
    job, cancel = cancelling(action, why)
    number = action.number

    def command(draft: Draft) -> object:
        state = draft.job(job)
        return None if state is None or state.number != number else cancel(draft)

    return job, command


def adopted(job_id: JobId, number: int, asked: Asked, least_fence: int, now_ms: int) -> JobState:
    """As its controller knows it. Fences of new actions begin with the time: should an id be used again, no
    agent takes the one for the other. They only ever rise: this clock may be behind that of an earlier
    scheduler."""
    least_fence = max(least_fence, asked.last_fence)
    state = submitted(job_id, number, asked.spec, asked.submitted_ms).state
    place = asked.place
    if place is None:
        return replace(state, fence=max(least_fence, now_ms))
    return replace(
        state,
        phase=Phase.SCHEDULED,
        changed_ms=now_ms,
        fence=max(least_fence, place.fence),
        # Since when it runs, its agent says.
        live=(_live(place, asked.submitted_ms),),
    )


def _live(place: Place, bound_ms: int) -> LiveTask:
    return LiveTask(0, place.fence, place.node, TaskPhase.BOUND, bound_ms, gpu_devices=place.gpu_devices)
