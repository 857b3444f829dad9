"""The state machine: a job as it stands and an event give the job as it then stands, and what to do.

    submitted ──► state ──┐
                          ├──► advance ──► state, instructions      or Refused, and nothing has changed
                 event ───┘

What happens to jobs that wait is in `waiting`, to those that get room in `placing`, what nodes report in
`tasks` and `failure`, what runs again in `again`, and how jobs end in `ending`.
"""

from __future__ import annotations

from typing import assert_never

from rota.lifecycle.again import evicted
from rota.lifecycle.ending import cancel_asked, deadline_passed, set_aside, start_missed
from rota.lifecycle.events import (
    Bound,
    CancelAsked,
    DeadlinePassed,
    DependencyEnded,
    Ended,
    Evicted,
    Held,
    JobEvent,
    LimitChanged,
    Promised,
    Released,
    Returned,
    SetAside,
    Started,
    StartMissed,
    Submitted,
)
from rota.lifecycle.fences import fence_before
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.placing import bound, limit_changed, promised
from rota.lifecycle.state import JobState
from rota.lifecycle.tasks import ended, returned, started
from rota.lifecycle.waiting import dependency_ended, held, in_its_queue, released
from rota.model.ids import JobId
from rota.model.run import JobSpec

__all__ = ["Advanced", "Objection", "Refused", "advance", "submitted"]


def submitted(job_id: JobId, number: int, spec: JobSpec, at_ms: int, epoch: int = 0) -> Advanced:
    """Dependencies that have ended already are told afterwards, as those that will end."""
    phase, cause = in_its_queue(spec.held, spec.depends_on)
    return Advanced(
        JobState(
            job_id,
            number,
            spec,
            submitted_ms=at_ms,
            phase=phase,
            changed_ms=at_ms,
            cause=cause,
            held=spec.held,
            depends_on=spec.depends_on,
            epoch=epoch,
            fence=fence_before(epoch),
            time_limit_ms=spec.template.time_limit_ms,
        )
    )


def advance(state: JobState, event: JobEvent, at_ms: int, chance: float) -> Advanced:  # noqa: C901, PLR0912 – one case for each event
    """`chance` is at least 0 and below 1: how much longer a retry waits than it has to. Raises Refused."""
    if state.is_over:
        raise Refused(Objection.OVER, f"job {state.id} is over: {state.phase.value}")
    match event:  # The most frequent ones first: each case costs a little.
        case Bound():
            return bound(state, event, at_ms)
        case Started():
            return started(state, event, at_ms)
        case Ended():
            return ended(state, event, at_ms, chance)
        case DependencyEnded():
            return dependency_ended(state, event, at_ms)
        case Promised():
            return promised(state, event)
        case Evicted():
            return evicted(state, event, at_ms)
        case Returned():
            return returned(state, event, at_ms)
        case CancelAsked():
            return cancel_asked(state, event, at_ms)
        case Held():
            return held(state, at_ms)
        case Released():
            return released(state, at_ms)
        case LimitChanged():
            return limit_changed(state, event)
        case StartMissed():
            return start_missed(state, event, at_ms)
        case DeadlinePassed():
            return deadline_passed(state, at_ms)
        case SetAside():
            return set_aside(state, event, at_ms)
        case Submitted():
            raise Refused(Objection.SUBMITTED_BEFORE, f"job {state.id} was submitted before")
        case _:
            assert_never(event)
