"""Getting room, a promise of it, or more time."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Objection, Refused
from rota.lifecycle.events import LimitChanged, Promised
from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from rota.model.job import Promise
from rota.model.run import Retry
from tests.unit.lifecycle.following import Followed, follow

PROMISE = Promise(5_000_000, ())


def refused(job: Followed, *ranks: int, standby: bool = False) -> Objection:
    before = job.state
    with pytest.raises(Refused) as error:
        job.bind(*ranks, standby=standby)
    assert job.state is before
    return error.value.why


def test_each_seat_gets_the_next_fence_and_a_start() -> None:
    job = follow(tasks=2).bind(1, 0)
    assert job.told == ["start 1 on n1, fence 1", "start 0 on n0, fence 2"]
    assert job.live() == {0: "bound", 1: "bound"}
    assert (job.phase, job.state.changed_ms, job.state.fence) == (Phase.SCHEDULED, job.at_ms, 2)


def test_room_settles_the_promise_and_whatever_it_waited_for() -> None:
    job = follow().happens(Promised(PROMISE))
    assert job.state.promise == PROMISE
    assert job.bind(0).state.promise is None
    job = follow(retry=Retry(limit=1)).run(0).exit(0, code=1)
    assert job.state.cause is Cause.RETRY
    assert job.bind(0).state.cause is None


def test_a_promise_can_be_taken_back() -> None:
    assert follow().happens(Promised(PROMISE)).happens(Promised(None)).state.promise is None


@pytest.mark.covers("gang-1", "gang-2")
def test_a_gang_starts_with_as_many_as_must_run_together_and_grows() -> None:
    assert refused(follow(tasks=3), 0, 1) is Objection.TOO_FEW
    job = follow(tasks=4, min_available=2)
    assert refused(job, 3) is Objection.TOO_FEW
    job.run(0, 2).bind(3)
    assert (job.phase, job.live()) == (Phase.RUNNING, {0: "running", 2: "running", 3: "bound"})


def test_only_ranks_that_wait_get_room() -> None:
    job = follow(tasks=3, min_available=1).run(0, 1).exit(1)
    assert refused(job, 0) is Objection.NOT_WAITING
    assert refused(job, 1) is Objection.NOT_WAITING
    assert refused(job, 2, 2) is Objection.NOT_WAITING
    assert refused(job, 3) is Objection.UNKNOWN_RANK
    assert refused(job, -1) is Objection.UNKNOWN_RANK
    assert refused(job) is Objection.NO_SEATS


def test_no_room_for_a_job_that_is_held_stops_or_is_over() -> None:
    assert refused(follow(held=True), 0) is Objection.NOT_PENDING
    job = follow(tasks=2, min_available=1).run(0).cancel()
    assert refused(job, 1) is Objection.STOPPING
    assert refused(job.stopped(0), 1) is Objection.OVER


def test_a_task_on_standby_starts_when_its_node_says_so() -> None:
    job = follow().bind(0, standby=True)
    assert (job.phase, job.live()) == (Phase.SCHEDULED, {0: "standby"})
    assert job.told == ["start 0 on n0, fence 1, standing by"]
    assert (job.start(0).phase, job.live()) == (Phase.RUNNING, {0: "running"})


def test_tasks_that_must_run_together_cannot_stand_by() -> None:
    assert refused(follow(tasks=2), 0, 1, standby=True) is Objection.NOT_ALONE
    assert follow(tasks=2, min_available=1).bind(0, 1, standby=True).live() == {0: "standby", 1: "standby"}


@pytest.mark.covers("time-8")
def test_a_longer_limit_reaches_every_task_that_goes_on() -> None:
    job = follow(tasks=3, min_available=1, limit=60_000).run(0, 1, 2).evict(1)
    job.happens(LimitChanged(90_000, "ada"))
    assert job.told == ["limit 0 to 90000", "limit 2 to 90000"]
    assert job.state.time_limit_ms == 90_000
    assert job.state.record().job.template.time_limit_ms == 90_000


def test_a_waiting_job_gets_another_limit_too() -> None:
    job = follow(held=True).happens(LimitChanged(90_000, "ada"))
    assert (job.state.time_limit_ms, job.told) == (90_000, [])


def test_a_limit_must_be_one_and_of_a_job_that_goes_on() -> None:
    with pytest.raises(Refused, match="state one above 0") as refusal:
        follow().happens(LimitChanged(0, "ada"))
    assert refusal.value.why is Objection.NO_LIMIT
    with pytest.raises(Refused) as refusal:
        follow().run(0).cancel().happens(LimitChanged(90_000, "ada"))
    assert refusal.value.why is Objection.STOPPING


def test_a_job_that_is_held_is_promised_nothing() -> None:
    with pytest.raises(Refused) as refusal:
        follow(held=True).happens(Promised(PROMISE))
    assert refusal.value.why is Objection.NOT_PENDING
