"""Holds and dependencies: what keeps a job from waiting for room."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Objection, Refused
from rota.lifecycle.events import DependencyEnded, Held, Promised, Released
from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from rota.model.ids import JobId
from rota.model.job import Promise
from rota.model.run import After, Dependency
from tests.unit.lifecycle.following import Followed, follow

HOLD, RELEASE = Held("ada"), Released("ada")


def after(*how: After, held: bool = False) -> Followed:
    """A job that waits for jobs 1, 2, … to end in these ways."""
    depends_on = tuple(Dependency(JobId(str(at)), one) for at, one in enumerate(how, 1))
    return follow(depends_on=depends_on, held=held)


def ended(job: int, succeeded: bool = True) -> DependencyEnded:
    return DependencyEnded(JobId(str(job)), succeeded)


@pytest.mark.covers("job-1")
def test_a_job_that_nothing_keeps_back_waits_for_room_at_once() -> None:
    job = follow(limit=5000)
    assert (job.phase, job.state.cause, job.state.time_limit_ms) == (Phase.PENDING, None, 5000)


def test_a_held_job_waits_until_it_is_released() -> None:
    job = follow(held=True)
    assert (job.phase, job.state.cause) == (Phase.CREATED, Cause.HELD)
    job.happens(RELEASE)
    assert (job.phase, job.state.cause, job.state.changed_ms) == (Phase.PENDING, None, job.at_ms)


def test_a_waiting_job_can_be_held_and_loses_its_promise() -> None:
    job = follow().happens(Promised(Promise(5, ()))).happens(HOLD)
    assert (job.phase, job.state.held, job.state.promise) == (Phase.CREATED, True, None)


def test_holding_twice_and_releasing_twice_changes_nothing() -> None:
    held = follow(held=True)
    before = held.state
    assert held.happens(HOLD).state is before
    free = follow()
    before = free.state
    assert free.happens(RELEASE).state is before


@pytest.mark.parametrize("job", [follow().bind(0), follow().run(0)], ids=["scheduled", "running"])
def test_a_job_with_room_cannot_be_held_and_is_told_what_to_do(job: Followed) -> None:
    with pytest.raises(Refused, match="only waiting jobs can be held: cancel it") as refused:
        job.happens(HOLD)
    assert refused.value.why is Objection.HAS_ROOM


@pytest.mark.covers("job-1")
def test_waits_for_all_it_depends_on() -> None:
    job = after(After.SUCCESS, After.FAILURE, After.ANY)
    assert (job.phase, job.state.cause) == (Phase.CREATED, Cause.DEPENDENCY)
    job.happens(ended(2, succeeded=False)).happens(ended(3, succeeded=False))
    assert job.phase is Phase.CREATED
    assert [one.job for one in job.state.depends_on] == ["1"]
    assert job.happens(ended(1)).phase is Phase.PENDING


@pytest.mark.parametrize(
    ("how", "succeeded", "message"),
    [(After.SUCCESS, False, "job 1 didn't succeed"), (After.FAILURE, True, "job 1 succeeded")],
)
@pytest.mark.parametrize("held", [False, True])
def test_is_cancelled_when_a_dependency_can_never_be_met(
    how: After, succeeded: bool, message: str, held: bool
) -> None:
    job = after(how, After.ANY, held=held).happens(ended(1, succeeded))
    assert (job.phase, job.state.cause) == (Phase.CANCELLED, Cause.DEPENDENCY_FAILED)
    assert job.state.message == message
    assert job.told == ["tell dependents: not succeeded"]


def test_a_job_it_depends_on_in_two_ways_must_meet_both() -> None:
    both = (Dependency(JobId("1"), After.ANY), Dependency(JobId("1"), After.SUCCESS))
    assert follow(depends_on=both).happens(ended(1)).phase is Phase.PENDING
    assert follow(depends_on=both).happens(ended(1, False)).phase is Phase.CANCELLED


def test_ends_of_other_jobs_and_ends_told_twice_change_nothing() -> None:
    job = after(After.SUCCESS, After.SUCCESS).happens(ended(1))
    before = job.state
    assert job.happens(ended(1)).state is before
    assert job.happens(ended(7)).state is before


def test_a_held_job_stays_held_when_its_dependencies_are_met_and_the_reverse() -> None:
    job = after(After.ANY, held=True).happens(ended(1))
    assert (job.phase, job.state.cause) == (Phase.CREATED, Cause.HELD)
    job = after(After.ANY, held=True).happens(RELEASE)
    assert (job.phase, job.state.cause) == (Phase.CREATED, Cause.DEPENDENCY)
    assert job.state.changed_ms < job.at_ms
