"""A job as the engine sees it."""

from __future__ import annotations

import pytest

from rota.lifecycle.events import LimitChanged, Promised
from rota.model.ids import NodeName
from rota.model.job import Placement, Promise
from rota.model.run import Retry
from tests.unit.lifecycle.following import follow


def test_what_runs_holds_its_room_since_it_started_and_what_is_bound_since_then() -> None:
    job = follow(tasks=3, min_available=1).bind(0, 1)
    bound_ms = job.at_ms
    record = job.start(1).state.record()
    assert record.placements == (
        Placement(0, NodeName("n0"), bound_ms),
        Placement(1, NodeName("n1"), job.at_ms),
    )
    assert list(record.waiting_ranks()) == [2]


def test_what_is_done_neither_runs_nor_waits() -> None:
    record = follow(tasks=2, min_available=1).run(0).exit(0).state.record()
    assert (record.placements, record.done, list(record.waiting_ranks())) == ((), (0,), [1])


def test_a_task_on_standby_neither_holds_room_nor_waits_for_some() -> None:
    record = follow(tasks=2, min_available=1).bind(1, standby=True).state.record()
    assert (record.placements, list(record.waiting_ranks())) == ((), [0])


def test_nothing_of_a_job_that_stops_waits() -> None:
    job = follow(tasks=3, min_available=1).run(0, 1).cancel().stopped(0)
    record = job.state.record()
    assert [placement.rank for placement in record.placements] == [1]
    assert list(record.waiting_ranks()) == []


def test_tells_who_and_since_when() -> None:
    state = follow(retry=Retry(limit=1)).run(0).exit(0, code=1).happens(Promised(Promise(5, ()))).state
    record = state.record()
    assert (record.job.id, record.job.number, record.job.submitted_ms) == ("17", 17, state.submitted_ms)
    assert (record.job.retries, record.promise) == (1, Promise(5, ()))


def test_unchanged_limits_leave_the_template_as_it_is_so_that_equal_jobs_share_it() -> None:
    job = follow(limit=60_000)
    assert job.state.record().job.template is job.state.spec.template
    job.happens(LimitChanged(90_000, "ada"))
    assert job.state.record().job.template.time_limit_ms == 90_000


@pytest.mark.covers("time-2")
@pytest.mark.parametrize(
    ("before_ms", "deadline_ms", "limit", "latest_ms"),
    [
        (None, None, 60_000, None),
        (5_000_000, None, 60_000, 5_000_000),
        (None, 5_000_000, 60_000, 4_940_000),
        (None, 5_000_000, None, 5_000_000),
        (4_950_000, 5_000_000, 60_000, 4_940_000),
        (4_900_000, 5_000_000, 60_000, 4_900_000),
    ],
)
def test_must_start_by_its_period_and_a_limit_before_its_deadline(
    before_ms: int | None, deadline_ms: int | None, limit: int | None, latest_ms: int | None
) -> None:
    job = follow(limit=limit, start_before_ms=before_ms, deadline_ms=deadline_ms)
    assert job.state.record().job.start_before_ms == latest_ms


def test_may_start_after_its_period_began_and_its_pause_is_over() -> None:
    job = follow(start_after_ms=2_000_000, retry=Retry(limit=2, backoff_ms=4000))
    assert job.state.record().job.start_after_ms == 2_000_000
    job.run(0).exit(0, code=1)
    assert job.state.not_before_ms == job.at_ms + 4000
    assert job.state.record().job.start_after_ms == 2_000_000
