"""What keeps a job from waiting for room: a hold, and other jobs that have to end first."""

from __future__ import annotations

from msgspec.structs import replace

from rota.lifecycle.ending import over
from rota.lifecycle.events import DependencyEnded
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.state import JobState, Phase
from rota.model.causes import Cause
from rota.model.run import After, Dependency


def in_its_queue(held: bool, depends_on: tuple[Dependency, ...]) -> tuple[Phase, Cause | None]:
    """Where a job belongs that none of whose tasks has a node, and why it is kept back there."""
    if held:
        return Phase.CREATED, Cause.HELD
    if depends_on:
        return Phase.CREATED, Cause.DEPENDENCY
    return Phase.PENDING, None


def held(state: JobState, at_ms: int) -> Advanced:
    if state.live:
        raise Refused(
            Objection.HAS_ROOM,
            f"job {state.id} has room already, and only waiting jobs can be held: cancel it, or let it end",
        )
    return Advanced(state) if state.held else _requeued(state, True, state.depends_on, at_ms)


def released(state: JobState, at_ms: int) -> Advanced:
    return _requeued(state, False, state.depends_on, at_ms) if state.held else Advanced(state)


def dependency_ended(state: JobState, event: DependencyEnded, at_ms: int) -> Advanced:
    ended = [one for one in state.depends_on if one.job == event.job]
    if not ended:
        return Advanced(state)
    left = tuple(one for one in state.depends_on if one.job != event.job)
    if not all(_is_met(one.after, event.succeeded) for one in ended):
        how = "succeeded" if event.succeeded else "didn't succeed"
        return over(
            state,
            Phase.CANCELLED,
            at_ms,
            cause=Cause.DEPENDENCY_FAILED,
            message=f"job {event.job} {how}",
            depends_on=left,
        )
    return _requeued(state, state.held, left, at_ms)


def _is_met(after: After, succeeded: bool) -> bool:
    return after is After.ANY or succeeded is (after is After.SUCCESS)


def _requeued(state: JobState, held: bool, depends_on: tuple[Dependency, ...], at_ms: int) -> Advanced:
    phase, cause = in_its_queue(held, depends_on)
    changed_ms = state.changed_ms if phase is state.phase else at_ms
    # A promise counts on a job that waits for room; who is kept back would miss it.
    promise = state.promise if phase is Phase.PENDING else None
    return Advanced(
        replace(
            state,
            phase=phase,
            changed_ms=changed_ms,
            cause=cause,
            held=held,
            depends_on=depends_on,
            promise=promise,
        )
    )
