"""How a job ends: at once if none of its tasks has a node, else once all of them have stopped."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rota.lifecycle.events import CancelAsked, SetAside, StartMissed
from rota.lifecycle.instructions import TellDependents
from rota.lifecycle.live import Live, stops, told_to_stop
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.state import JobState, Phase
from rota.model.causes import Cause


def over(state: JobState, phase: Phase, at_ms: int, **changes: Any) -> Advanced:
    ended = replace(
        state,
        phase=phase,
        changed_ms=at_ms,
        ended_ms=at_ms,
        live=(),
        ending=None,
        restarting=False,
        promise=None,
        **changes,
    )
    return Advanced(ended, (TellDependents(state.id, phase is Phase.SUCCEEDED),))


def bring_to_end(
    state: JobState, live: Live, phase: Phase, cause: Cause, at_ms: int, message: str = "", **changes: Any
) -> Advanced:
    """`live` are the tasks that still have a node. What was decided first stands."""
    if state.ending is not None:
        return Advanced(state, stops(state, live))
    if not live:
        return over(state, phase, at_ms, cause=cause, message=message, **changes)
    stopping = replace(
        state,
        live=told_to_stop(live),
        ending=phase,
        restarting=False,
        cause=cause,
        message=message,
        promise=None,
        **changes,
    )
    return Advanced(stopping, stops(state, live))


def cancel_asked(state: JobState, event: CancelAsked, at_ms: int) -> Advanced:
    return bring_to_end(state, state.live, Phase.CANCELLED, Cause.BY_USER, at_ms, event.message)


def deadline_passed(state: JobState, at_ms: int) -> Advanced:
    return bring_to_end(state, state.live, Phase.TIMED_OUT, Cause.DEADLINE, at_ms)


def set_aside(state: JobState, event: SetAside, at_ms: int) -> Advanced:
    return bring_to_end(state, state.live, Phase.FAILED, Cause.SET_ASIDE, at_ms, event.message)


def start_missed(state: JobState, event: StartMissed, at_ms: int) -> Advanced:
    if state.live:
        raise Refused(Objection.HAS_ROOM, f"job {state.id} has not missed its start: it has room")
    return over(state, Phase.FAILED, at_ms, cause=event.cause, message="")
