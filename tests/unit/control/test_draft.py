"""Changes on top of others that aren't kept yet: who waits for a job is told of its end in the same go."""

from __future__ import annotations

import pytest

from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.lifecycle.events import CancelAsked
from rota.lifecycle.state import Phase
from rota.model.ids import JobId
from rota.model.job import JobTemplate, TaskGroup
from rota.model.policy import Policy
from rota.model.run import Dependency, JobSpec, Run
from rota.model.task import TaskSpec

FIRST, SECOND = JobId("1"), JobId("2")


def spec(*awaited: JobId) -> JobSpec:
    dependencies = tuple(Dependency(job) for job in awaited)
    return JobSpec(JobTemplate((TaskGroup(TaskSpec()),)), Run(("true",)), depends_on=dependencies)


@pytest.mark.parametrize("is_on_top", [False, True])
def test_who_came_in_with_a_draft_is_told_of_an_end_in_it(is_on_top: bool) -> None:
    draft = Draft(Memory(Policy()), 0, lambda: 0.5)
    draft.submit(FIRST, 1, spec(), "ada")
    draft.submit(SECOND, 2, spec(FIRST), "ada")
    later = draft.on_top() if is_on_top else draft
    later.change(FIRST, CancelAsked("ada"), "ada")
    told = later.job(SECOND)
    assert told is not None
    assert told.phase is Phase.CANCELLED


def test_what_is_merged_is_told_as_well() -> None:
    draft = Draft(Memory(Policy()), 0, lambda: 0.5)
    draft.submit(FIRST, 1, spec(), "ada")
    later = draft.on_top()
    later.submit(SECOND, 2, spec(FIRST), "ada")
    draft.merge(later)
    draft.change(FIRST, CancelAsked("ada"), "ada")
    told = draft.job(SECOND)
    assert told is not None
    assert told.is_over
