"""Ends that somebody or something else decides."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Objection, Refused
from rota.lifecycle.events import DeadlinePassed, JobEvent, Promised, SetAside, StartMissed, Submitted
from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from rota.model.job import Promise
from rota.model.run import Retry
from tests.unit.lifecycle.following import Followed, follow


@pytest.mark.covers("job-1")
@pytest.mark.parametrize("job", [follow(held=True), follow()], ids=["created", "pending"])
def test_a_job_without_room_is_cancelled_at_once(job: Followed) -> None:
    job.cancel("a typo")
    assert (job.phase, job.state.cause, job.state.message) == (Phase.CANCELLED, Cause.BY_USER, "a typo")
    assert (job.state.ended_ms, job.told) == (job.at_ms, ["tell dependents: not succeeded"])


@pytest.mark.covers("job-1")
def test_a_job_with_room_is_cancelled_once_its_tasks_have_stopped() -> None:
    job = follow(tasks=2).bind(0, 1).start(0).cancel()
    assert (job.told, job.phase) == (["stop 0 on n0", "stop 1 on n1"], Phase.RUNNING)
    assert (job.state.ending, job.live()) == (Phase.CANCELLED, {0: "stopping", 1: "stopping"})
    assert job.stopped(0).phase is Phase.RUNNING
    job.stopped(1)
    assert (job.phase, job.state.ending, job.state.live) == (Phase.CANCELLED, None, ())


@pytest.mark.parametrize("code", [0, 1])
def test_a_task_that_ends_by_itself_meanwhile_does_not_change_that(code: int) -> None:
    job = follow(retry=Retry(limit=3)).run(0).cancel().exit(0, code=code)
    assert (job.phase, job.state.cause, job.state.retries) == (Phase.CANCELLED, Cause.BY_USER, 0)


def test_asking_twice_tells_the_tasks_again() -> None:
    job = follow().run(0).cancel("first")
    before = job.state
    assert job.cancel("second").told == ["stop 0 on n0"]
    assert job.state is before


def test_what_was_to_restart_can_be_cancelled() -> None:
    job = follow(tasks=2, on_task_failure="restart-job", retry=Retry(limit=1)).run(0, 1).exit(0, code=1)
    assert job.state.restarting
    assert job.cancel().stopped(1).phase is Phase.CANCELLED


@pytest.mark.covers("time-9")
def test_a_job_that_missed_its_start_fails_with_that_cause() -> None:
    job = follow().happens(Promised(Promise(5, ()))).happens(StartMissed())
    assert (job.phase, job.state.cause, job.state.promise) == (Phase.FAILED, Cause.START_MISSED, None)


def test_a_job_that_has_room_did_not_miss_its_start() -> None:
    with pytest.raises(Refused) as refused:
        follow().bind(0).happens(StartMissed())
    assert refused.value.why is Objection.HAS_ROOM


@pytest.mark.parametrize(
    ("event", "phase", "cause", "message"),
    [
        (DeadlinePassed(), Phase.TIMED_OUT, Cause.DEADLINE, ""),
        (SetAside("what is this?"), Phase.FAILED, Cause.SET_ASIDE, "what is this?"),
    ],
)
def test_ends_that_stop_what_runs(event: JobEvent, phase: Phase, cause: Cause, message: str) -> None:
    waiting = follow().happens(event)
    assert (waiting.phase, waiting.state.cause, waiting.state.message) == (phase, cause, message)
    job = follow(retry=Retry(limit=1)).run(0).happens(event)
    assert (job.told, job.state.ending) == (["stop 0 on n0"], phase)
    job.exit(0)
    assert (job.phase, job.state.cause, job.state.message) == (phase, cause, message)


def test_the_first_end_that_was_decided_stands() -> None:
    job = follow().run(0).cancel().happens(DeadlinePassed()).happens(SetAside("late"))
    job.stopped(0)
    assert (job.phase, job.state.cause) == (Phase.CANCELLED, Cause.BY_USER)


def test_a_job_is_submitted_once() -> None:
    job = follow()
    with pytest.raises(Refused) as refused:
        job.happens(Submitted(job.state.spec, 17, "ada"))
    assert refused.value.why is Objection.SUBMITTED_BEFORE


def test_nothing_happens_to_a_job_that_is_over_and_its_user_is_told_how_it_ended() -> None:
    with pytest.raises(Refused, match="job 17 is over: succeeded") as refused:
        follow().run(0).exit(0).cancel()
    assert refused.value.why is Objection.OVER
