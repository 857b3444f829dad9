"""What nodes report: starts, ends, and what is given back."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Objection, Refused
from rota.lifecycle.events import Ended, JobEvent, Returned, Started
from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.model.causes import Cause
from rota.model.run import Retry
from tests.unit.lifecycle.following import Followed, follow

SUCCESS = TaskEnd(EndReason.EXITED, 0)


def refused(job: Followed, event: JobEvent) -> Objection:
    before = job.state
    with pytest.raises(Refused) as error:
        job.happens(event)
    assert job.state is before
    return error.value.why


@pytest.mark.covers("job-1")
def test_a_job_runs_and_succeeds() -> None:
    job = follow().bind(0).start(0)
    started_ms = job.at_ms
    assert (job.phase, job.state.started_ms, job.state.live[0].started_ms) == (
        Phase.RUNNING,
        started_ms,
        started_ms,
    )
    job.exit(0)
    assert (job.phase, job.state.ended_ms, job.state.changed_ms) == (Phase.SUCCEEDED, job.at_ms, job.at_ms)
    assert (job.state.done, job.state.last_end) == ((0,), SUCCESS)
    assert job.told == ["tell dependents: succeeded"]


def test_a_gang_succeeds_when_all_its_tasks_have() -> None:
    job = follow(tasks=3).bind(0, 1, 2).start(2, 0)
    first_ms = job.state.started_ms
    job.start(1).exit(1, 0)
    assert (job.phase, job.state.done, job.live()) == (Phase.RUNNING, (0, 1), {2: "running"})
    assert job.state.started_ms == first_ms
    assert job.exit(2).phase is Phase.SUCCEEDED


def test_what_waits_after_all_others_are_done_waits_for_room() -> None:
    job = follow(tasks=3, min_available=1).run(0, 1).exit(0, 1)
    assert (job.phase, job.state.changed_ms) == (Phase.PENDING, job.at_ms)
    assert job.run(2).exit(2).phase is Phase.SUCCEEDED


@pytest.mark.parametrize("event", [Started(0, 1), Ended(0, 1, SUCCESS), Returned(0, 1)])
def test_reports_of_an_earlier_start_are_refused(event: JobEvent) -> None:
    job = follow(retry=Retry(limit=1)).run(0).exit(0, code=1)
    assert refused(job, event) is Objection.STALE_FENCE
    assert refused(job.bind(0), event) is Objection.STALE_FENCE


def test_reports_of_starts_that_never_were_are_refused() -> None:
    gang = follow(tasks=2).bind(0, 1)
    assert refused(gang, Started(0, 2)) is Objection.STALE_FENCE
    assert refused(gang, Started(0, 9)) is Objection.STALE_FENCE
    assert refused(gang, Started(2, 1)) is Objection.UNKNOWN_RANK
    assert refused(follow().bind(0), Started(1, 1)) is Objection.UNKNOWN_RANK


def test_a_start_counts_once() -> None:
    assert refused(follow().run(0), Started(0, 1)) is Objection.STARTED_BEFORE


def test_nothing_happens_to_a_job_that_is_over() -> None:
    job = follow().run(0).exit(0)
    assert refused(job, Ended(0, 1, SUCCESS)) is Objection.OVER


def test_a_start_that_crosses_a_stop_leaves_the_task_stopping() -> None:
    job = follow().bind(0).cancel().start(0)
    assert (job.phase, job.live(), job.state.ending) == (Phase.RUNNING, {0: "stopping"}, Phase.CANCELLED)


@pytest.mark.covers("time-7")
def test_who_reaches_the_limit_has_timed_out_and_is_not_retried() -> None:
    job = follow(retry=Retry(limit=5)).run(0).ends(0, EndReason.TIME_LIMIT)
    assert (job.phase, job.state.cause, job.state.failed) == (Phase.TIMED_OUT, Cause.TIME_LIMIT, (0,))


@pytest.mark.covers("time-7")
def test_a_gang_times_out_as_a_whole() -> None:
    job = follow(tasks=2, on_task_failure="continue", min_available=1).run(0, 1).ends(0, EndReason.TIME_LIMIT)
    assert (job.told, job.phase, job.state.ending) == (["stop 1 on n1"], Phase.RUNNING, Phase.TIMED_OUT)
    assert job.exit(1).phase is Phase.TIMED_OUT
    assert job.state.done == (0, 1)


def test_the_limit_counts_also_for_a_task_that_was_told_to_make_room() -> None:
    assert follow().run(0).evict(0).ends(0, EndReason.TIME_LIMIT).phase is Phase.TIMED_OUT


def test_a_task_given_back_unstarted_waits_again() -> None:
    job = follow().bind(0, standby=True).give_back(0)
    assert (job.phase, job.state.attempt, job.live()) == (Phase.PENDING, 1, {})
    assert job.bind(0).told == ["start 0 on n0, fence 2"]


def test_a_task_that_runs_cannot_be_given_back() -> None:
    assert refused(follow().run(0), Returned(0, 1)) is Objection.STARTED_BEFORE


def test_what_is_given_back_of_a_cancelled_job_ends_it() -> None:
    job = follow(tasks=2, min_available=1).bind(0, 1, standby=True).cancel().give_back(1)
    assert job.phase is Phase.SCHEDULED
    assert job.give_back(0).phase is Phase.CANCELLED
