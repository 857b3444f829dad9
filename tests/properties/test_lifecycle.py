"""Whatever happens to a job, in whatever order: it is never in a state that can't be, and it ends once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.lifecycle.advance import Advanced, Refused, advance, submitted
from rota.lifecycle.events import (
    Bound,
    DependencyEnded,
    Ended,
    JobEvent,
    Released,
    Returned,
    Started,
)
from rota.lifecycle.instructions import StartTask, StopTask, TellDependents
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, TaskPhase
from rota.lifecycle.transitions import STARTS_IN, TRANSITIONS
from rota.lifecycle.validate import validate
from rota.model.ids import JobId
from rota.model.run import After, JobSpec
from tests.properties.job_walks import likely_events, possible_events, seats, specs, waiting_ranks

SUCCESS = TaskEnd(EndReason.EXITED, 0)
DRAWN = {(one.before, one.after, event) for one in TRANSITIONS for event in one.events}

Step = tuple[JobState, JobEvent, Advanced]


def begun(spec: JobSpec) -> JobState:
    return submitted(JobId("17"), 17, spec, 1000).state


@st.composite
def walks(draw: st.DrawFn) -> list[Step]:
    """The steps that weren't refused. Refusals have changed nothing, by what `advance` is given and gives."""
    state = begun(draw(specs()))
    steps: list[Step] = []
    for at_ms in range(2000, 2000 + draw(st.integers(1, 25))):
        # Mostly what comes by itself, or a walk would seldom get beyond its first cancellation.
        events = likely_events(state) if draw(st.integers(0, 5)) else possible_events(state)
        event = draw(st.sampled_from(events))
        try:
            advanced = advance(state, event, at_ms, draw(st.sampled_from([0.0, 0.9])))
        except Refused:
            continue
        steps.append((state, event, advanced))
        state = advanced.state
        if state.is_over:
            break
    return steps


@given(walks())
def test_no_sequence_of_events_leads_to_a_state_that_cannot_be(walk: list[Step]) -> None:
    for _, _, advanced in walk:
        validate(advanced.state)


@given(walks())
def test_phases_change_as_drawn_and_with_their_time(walk: list[Step]) -> None:
    for before, event, advanced in walk:
        after = advanced.state
        if after.phase is before.phase:
            assert after.changed_ms == before.changed_ms
        else:
            assert (before.phase, after.phase, type(event)) in DRAWN
            assert after.changed_ms > before.changed_ms


@given(specs())
def test_jobs_come_in_as_drawn(spec: JobSpec) -> None:
    state = begun(spec)
    validate(state)
    assert state.phase in STARTS_IN


@given(walks(), st.data())
def test_nothing_ever_happens_to_a_job_that_is_over(walk: list[Step], data: st.DataObject) -> None:
    for _, _, advanced in walk:
        state = advanced.state
        if state.is_over:
            for task_fence in range(state.fence + 1):
                with pytest.raises(Refused):
                    advance(state, Ended(0, task_fence, SUCCESS), 9000, 0.0)
            with pytest.raises(Refused):
                advance(state, data.draw(st.sampled_from(possible_events(state))), 9000, 0.0)


@given(walks())
def test_fences_only_grow_and_each_start_has_its_own(walk: list[Step]) -> None:
    given_out: list[int] = []
    for before, _, advanced in walk:
        given_out += [one.fence for one in advanced.instructions if isinstance(one, StartTask)]
        assert advanced.state.fence >= before.fence
    assert given_out == sorted(set(given_out))


@given(walks())
def test_reports_under_any_other_fence_are_refused(walk: list[Step]) -> None:
    for _, _, advanced in walk:
        state = advanced.state
        current = {(task.rank, task.fence) for task in state.live}
        for rank in range(state.spec.template.task_count):
            for fence in range(state.fence + 2):
                if (rank, fence) not in current:
                    for event in (Started(rank, fence), Ended(rank, fence, SUCCESS), Returned(rank, fence)):
                        with pytest.raises(Refused):
                            advance(state, event, 9000, 0.0)


@given(walks())
def test_instructions_are_enough(walk: list[Step]) -> None:
    """A backend that only follows instructions runs what is live, and is told of all that is to stop."""
    told_to_start: set[tuple[int, int]] = set()
    told_to_stop: set[tuple[int, int]] = set()
    for _, event, advanced in walk:
        for one in advanced.instructions:
            if isinstance(one, StartTask):
                told_to_start.add((one.rank, one.fence))
            elif isinstance(one, StopTask):
                told_to_stop.add((one.rank, one.fence))
        if isinstance(event, Ended | Returned):
            told_to_start.discard((event.rank, event.fence))
            told_to_stop.discard((event.rank, event.fence))
        live = advanced.state.live
        assert {(task.rank, task.fence) for task in live} == told_to_start
        stopping = {(task.rank, task.fence) for task in live if task.phase is TaskPhase.STOPPING}
        assert stopping == told_to_stop


@given(walks())
def test_dependents_are_told_once_and_only_of_the_end(walk: list[Step]) -> None:
    for _, _, advanced in walk:
        told = [one for one in advanced.instructions if isinstance(one, TellDependents)]
        state = advanced.state
        assert told == ([TellDependents(state.id, state.phase is Phase.SUCCEEDED)] if state.is_over else [])


@pytest.mark.covers("gang-1")
@given(walks())
def test_a_gang_never_starts_with_fewer_than_must_run_together(walk: list[Step]) -> None:
    for before, event, advanced in walk:
        if isinstance(event, Bound) and not before.live and not before.done:
            assert len(advanced.state.live) >= before.spec.template.min_count


@pytest.mark.covers("job-1")
@given(specs())
def test_a_job_without_faults_succeeds(spec: JobSpec) -> None:
    assert carried_to_its_end(begun(spec)).phase is Phase.SUCCEEDED


@given(walks())
def test_whatever_happened_a_job_ends_as_was_decided_or_succeeds_if_nothing_more_goes_wrong(
    walk: list[Step],
) -> None:
    for _, _, advanced in walk:
        state = advanced.state
        if not state.is_over:
            lost_a_task = bool(state.failed) and not state.restarting
            expected = state.ending or (Phase.FAILED if lost_a_task else Phase.SUCCEEDED)
            assert carried_to_its_end(state).phase is expected


def carried_to_its_end(state: JobState) -> JobState:
    """Nothing fails, whoever is asked to stop does, and there is room for all that waits."""
    most = 10 * state.spec.template.task_count + 10
    for at_ms in range(5000, 5000 + most):
        if state.is_over:
            return state
        state = advance(state, _next_without_faults(state), at_ms, 0.0).state
        validate(state)
    raise AssertionError(f"not over after {most} events: {state}")


def _next_without_faults(state: JobState) -> JobEvent:
    if state.held:
        return Released("ada")
    if state.depends_on:
        first = state.depends_on[0]
        return DependencyEnded(first.job, first.after is not After.FAILURE)
    ranks = waiting_ranks(state)
    if ranks and not state.is_stopping:
        return seats(ranks)
    task = state.live[0]
    if task.phase is TaskPhase.STOPPING:
        return Ended(task.rank, task.fence, TaskEnd(EndReason.STOPPED))
    if task.started_ms is None:
        return Started(task.rank, task.fence)
    return Ended(task.rank, task.fence, SUCCESS)
