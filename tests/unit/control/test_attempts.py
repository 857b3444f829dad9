"""What events say about attempts."""

from __future__ import annotations

from rota.control.attempts import changed_attempts
from rota.lifecycle.advance import advance, submitted
from rota.lifecycle.events import Bound, CancelAsked, Ended, JobEvent, Seat, Started
from rota.lifecycle.state import EndReason, JobState, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.store.writing.batch import Attempt

N = NodeName("n")


def after(state: JobState, event: JobEvent, at_ms: int) -> tuple[JobState, list[Attempt]]:
    advanced = advance(state, event, at_ms, 0.5).state
    return advanced, list(changed_attempts(state, advanced, event, at_ms))


def test_from_being_bound_to_the_end() -> None:
    spec = JobSpec(JobTemplate((TaskGroup(TaskSpec()),)), Run(("true",)))
    state = submitted(JobId("1"), 1, spec, 0).state
    state, attempts = after(state, Bound((Seat(0, N),)), 10)
    fence = state.live[0].fence
    bound = Attempt(state.id, 0, fence, N, (), 10)
    assert attempts == [bound]
    state, attempts = after(state, Started(0, fence), 20)
    assert [(one.fence, one.bound_ms, one.started_ms) for one in attempts] == [(fence, 10, 20)]
    end = TaskEnd(EndReason.EXITED, 0)
    state, attempts = after(state, Ended(0, fence, end), 30)
    assert [(one.started_ms, one.ended_ms, one.end) for one in attempts] == [(20, 30, end)]


def test_most_events_say_nothing() -> None:
    spec = JobSpec(JobTemplate((TaskGroup(TaskSpec()),)), Run(("true",)))
    state = submitted(JobId("1"), 1, spec, 0).state
    assert after(state, CancelAsked("ada"), 10)[1] == []
