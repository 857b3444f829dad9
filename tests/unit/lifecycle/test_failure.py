"""Tasks that fail by themselves: retries, and the policies of gangs."""

from __future__ import annotations

import pytest

from rota.lifecycle.events import Held, Released
from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.model.causes import Cause
from rota.model.run import Retry
from tests.unit.lifecycle.following import follow

ONCE = Retry(limit=1, backoff_ms=4000)


@pytest.mark.covers("job-1")
def test_a_job_that_is_not_to_be_retried_fails() -> None:
    job = follow().run(0).ends(0, EndReason.STAGING, "data.tar: wrong sha256")
    assert (job.phase, job.state.cause, job.state.message) == (
        Phase.FAILED,
        Cause.TASK_FAILED,
        "data.tar: wrong sha256",
    )
    assert (job.state.done, job.state.failed) == ((0,), (0,))
    assert job.told == ["tell dependents: not succeeded"]


@pytest.mark.covers("time-10")
def test_a_retry_comes_after_a_pause_and_is_counted() -> None:
    job = follow(retry=ONCE).run(0)
    first_ms = job.state.started_ms
    job.exit(0, code=3, chance=0.5)
    assert (job.phase, job.state.cause, job.state.attempt, job.state.retries) == (
        Phase.PENDING,
        Cause.RETRY,
        2,
        1,
    )
    assert job.state.not_before_ms == job.at_ms + 5000
    assert job.state.record().job.start_after_ms == job.at_ms + 5000
    assert job.state.last_end == TaskEnd(EndReason.EXITED, 3)
    job.run(0).exit(0, code=3)
    assert (job.phase, job.state.retries, job.state.started_ms) == (Phase.FAILED, 1, first_ms)


def test_a_retry_that_succeeds_leaves_no_trace_of_the_failure() -> None:
    job = follow(retry=ONCE).run(0).exit(0, code=3).run(0).exit(0)
    assert (job.phase, job.state.cause, job.state.failed) == (Phase.SUCCEEDED, None, ())
    assert job.state.last_end == TaskEnd(EndReason.EXITED, 0)


@pytest.mark.parametrize(("code", "phase"), [(75, Phase.PENDING), (1, Phase.FAILED)])
def test_only_these_exit_codes_are_retried(code: int, phase: Phase) -> None:
    assert follow(retry=Retry(limit=1, exit_codes=(75,))).run(0).exit(0, code=code).phase is phase


def test_what_could_not_even_start_is_retried_unless_exit_codes_are_asked_for() -> None:
    assert follow(retry=ONCE).bind(0).ends(0, EndReason.NOT_STARTED).phase is Phase.PENDING
    choosy = follow(retry=Retry(limit=1, exit_codes=(75,)))
    assert choosy.bind(0).ends(0, EndReason.NOT_STARTED).phase is Phase.FAILED


@pytest.mark.parametrize("policy", ["fail-job", "continue", "restart-task", "restart-job"])
def test_a_job_of_one_task_has_no_policy(policy: str) -> None:
    job = follow(on_task_failure=policy, retry=ONCE).run(0).exit(0, code=1)
    assert (job.phase, job.state.attempt) == (Phase.PENDING, 2)


@pytest.mark.covers("gang-5")
def test_fail_job_stops_the_others_and_then_fails() -> None:
    job = follow(tasks=3, retry=ONCE).run(0, 1, 2).exit(0).exit(1, code=3)
    assert (job.told, job.phase, job.state.ending) == (["stop 2 on n2"], Phase.RUNNING, Phase.FAILED)
    job.stopped(2)
    assert (job.phase, job.state.cause) == (Phase.FAILED, Cause.TASK_FAILED)
    assert (job.state.done, job.state.failed) == ((0, 1), (1,))
    assert job.state.last_end == TaskEnd(EndReason.EXITED, 3)


@pytest.mark.covers("gang-5")
def test_restart_job_stops_the_others_and_begins_anew() -> None:
    job = follow(tasks=3, on_task_failure="restart-job", retry=ONCE).run(0, 1, 2).exit(0).exit(1, code=3)
    assert (job.told, job.state.restarting) == (["stop 2 on n2"], True)
    not_before_ms = job.at_ms + 4000
    job.stopped(2)
    assert (job.phase, job.state.cause, job.state.attempt) == (Phase.PENDING, Cause.RETRY, 2)
    assert (job.state.done, job.state.not_before_ms) == ((), not_before_ms)
    job.run(0, 1, 2).exit(2, code=3)
    assert job.state.ending is Phase.FAILED
    assert job.stopped(0, 1).phase is Phase.FAILED


@pytest.mark.covers("gang-5")
def test_restart_job_is_not_put_off_by_others_that_fail_or_succeed_meanwhile() -> None:
    job = follow(tasks=3, on_task_failure="restart-job", retry=ONCE).run(0, 1, 2).exit(1, code=3)
    job.exit(0, code=3).exit(2)
    assert (job.phase, job.state.retries, job.state.done) == (Phase.PENDING, 1, ())


@pytest.mark.covers("gang-5")
def test_restart_task_lets_the_others_run() -> None:
    job = follow(tasks=2, on_task_failure="restart-task", retry=ONCE).run(0, 1).exit(0, code=3)
    assert (job.phase, job.told, job.live()) == (Phase.RUNNING, [], {1: "running"})
    assert (job.state.cause, job.state.retries, job.state.attempt) == (Cause.RETRY, 1, 1)
    assert list(job.state.record().waiting_ranks()) == [0]
    assert job.bind(0).told == ["start 0 on n0, fence 3"]
    job.start(0).exit(1, code=3)
    assert job.state.ending is Phase.FAILED


def test_restart_task_waits_for_room_when_nothing_else_runs() -> None:
    job = follow(tasks=2, on_task_failure="restart-task", retry=ONCE).run(0, 1).exit(1).exit(0, code=3)
    assert (job.phase, job.state.done) == (Phase.PENDING, (1,))
    assert job.run(0).exit(0).phase is Phase.SUCCEEDED


@pytest.mark.covers("gang-5")
def test_continue_goes_on_while_enough_run_or_have_succeeded() -> None:
    job = follow(tasks=4, on_task_failure="continue", min_available=2).run(0, 1, 2, 3)
    job.exit(0, code=3).exit(1)
    assert (job.phase, job.told, job.state.failed, job.state.done) == (Phase.RUNNING, [], (0,), (0, 1))
    job.exit(2, code=3)
    assert (job.state.ending, job.state.failed) == (None, (0, 2))
    job.exit(3, code=4)
    assert (job.phase, job.state.cause) == (Phase.FAILED, Cause.TASK_FAILED)
    assert job.state.last_end == TaskEnd(EndReason.EXITED, 4)


@pytest.mark.covers("gang-5")
def test_continue_fails_once_too_few_are_left() -> None:
    job = follow(tasks=3, on_task_failure="continue", min_available=2).run(0, 1, 2).exit(0, code=3)
    assert (job.told, job.live()) == ([], {1: "running", 2: "running"})
    job.exit(1, code=3)
    assert (job.told, job.state.ending) == (["stop 2 on n2"], Phase.FAILED)
    assert job.stopped(2).phase is Phase.FAILED


def test_a_job_that_went_on_without_a_task_has_failed_in_the_end() -> None:
    job = follow(tasks=3, on_task_failure="continue", min_available=1).run(0, 1, 2)
    job.exit(0, code=3).exit(1).exit(2)
    assert (job.phase, job.state.cause, job.state.done) == (Phase.FAILED, Cause.TASK_FAILED, (0, 1, 2))
    assert job.state.last_end == TaskEnd(EndReason.EXITED, 3)


def test_the_last_task_to_end_may_be_one_that_failed() -> None:
    job = follow(tasks=2, on_task_failure="continue", min_available=1).run(0, 1).exit(0).exit(1, code=3)
    assert (job.phase, job.state.failed, job.state.done) == (Phase.FAILED, (1,), (0, 1))


def test_a_hold_may_come_between_retries() -> None:
    job = follow(retry=ONCE).run(0).exit(0, code=1)
    pause_ends_ms = job.state.not_before_ms
    job.happens(Held("ada")).happens(Released("ada"))
    assert (job.phase, job.state.not_before_ms) == (Phase.PENDING, pause_ends_ms)
