"""What is drawn is what happens: no transition is missing, none is invented."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Refused, advance, submitted
from rota.lifecycle.events import Event
from rota.lifecycle.state import TERMINAL, JobState, Phase
from rota.lifecycle.transitions import STARTS_IN, TRANSITIONS
from rota.lifecycle.validate import validate
from rota.model.ids import JobId
from rota.model.job import JobTemplate, TaskGroup
from rota.model.run import Dependency, JobSpec, Retry, Run
from rota.model.task import TaskSpec
from tests.properties.job_walks import possible_events

Seen = tuple[Phase, Phase, type[Event]]

TWO_TASKS = JobTemplate((TaskGroup(TaskSpec(), 2),), min_available=1)
FREE = JobSpec(TWO_TASKS, Run(("true",)), retry=Retry(limit=1))
KEPT_BACK = JobSpec(TWO_TASKS, Run(("true",)), depends_on=(Dependency(JobId("1")),))
HELD = JobSpec(TWO_TASKS, Run(("true",)), held=True)


@pytest.mark.slow
def test_the_table_holds_all_that_can_be_reached_and_nothing_else() -> None:
    drawn = {(one.before, one.after, event) for one in TRANSITIONS for event in one.events}
    reached = explored(FREE, depth=5) | explored(KEPT_BACK, depth=2) | explored(HELD, depth=2)
    assert reached == drawn


def test_each_pair_of_phases_is_there_once_and_ends_are_never_left() -> None:
    pairs = [(one.before, one.after) for one in TRANSITIONS]
    assert len(set(pairs)) == len(pairs)
    assert {before for before, _ in pairs}.isdisjoint(TERMINAL)
    assert {after for _, after in pairs}.union(STARTS_IN) == set(Phase)


def explored(spec: JobSpec, depth: int) -> set[Seen]:
    """Everything that up to so many events can lead to. All come at the same moment: with time standing
    still, states that differ in nothing else are looked at once."""
    seen: set[Seen] = set()
    known: set[JobState] = set()
    edge = {submitted(JobId("17"), 17, spec, 0).state}
    for _ in range(depth):
        known |= edge
        reached: set[JobState] = set()
        for state in edge:
            for event in possible_events(state):
                try:
                    after = advance(state, event, 0, 0.0).state
                except Refused:
                    continue
                if after.phase is not state.phase:
                    seen.add((state.phase, after.phase, type(event)))
                reached.add(after)
        edge = {state for state in reached - known if not state.is_over}
    for state in known:
        validate(state)
    return seen
