"""How long the pause before a retry is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.lifecycle.advance import submitted
from rota.lifecycle.retry import may_retry, pause_ms, within_pause
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId
from rota.model.run import Retry
from tests.unit.lifecycle.following import job_spec

RETRY = Retry(limit=100, backoff_ms=1000, max_backoff_ms=60_000)


@pytest.mark.covers("job-6", "time-10")
def test_pauses_double_up_to_the_longest() -> None:
    pauses = [pause_ms(RETRY, retries, 0.0) for retries in (1, 2, 3, 6, 7, 8, 100_000)]
    assert pauses == [1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000]


@pytest.mark.covers("job-6", "time-10")
def test_chance_makes_them_longer_by_up_to_a_half() -> None:
    assert [pause_ms(RETRY, 2, chance) for chance in (0.0, 0.5, 0.999)] == [2000, 2500, 2999]


def test_no_backoff_is_no_pause() -> None:
    assert pause_ms(Retry(limit=1, backoff_ms=0), 1, 0.9) == 0


@pytest.mark.covers("trust-5")
def test_who_fails_again_and_again_pauses_at_least_a_second() -> None:
    at_once = Retry(limit=1000, backoff_ms=0, max_backoff_ms=0)
    assert [pause_ms(at_once, retries, 0.0) for retries in (1, 3, 4, 1000)] == [0, 0, 1000, 1000]


@pytest.mark.covers("trust-5")
def test_nobody_is_tried_again_more_than_a_thousand_times() -> None:
    """Also a job of a time before there was a limit."""
    state = submitted(JobId("1"), 1, replace(job_spec(), retry=Retry(limit=10**6)), 0).state
    failed = TaskEnd(EndReason.EXITED, 1)
    assert may_retry(replace(state, retries=999), failed)
    assert not may_retry(replace(state, retries=1000), failed)


@pytest.mark.covers("trust-5")
def test_a_pause_that_was_reckoned_by_a_wrong_clock_ends_in_time() -> None:
    state = submitted(JobId("1"), 1, replace(job_spec(), retry=RETRY), 0).state
    now_ms = 10**9
    paused = replace(state, retries=2, not_before_ms=now_ms + 2500)
    assert within_pause(paused, now_ms) is paused
    tomorrow = replace(paused, not_before_ms=now_ms + 86_400_000)
    assert within_pause(tomorrow, now_ms).not_before_ms == now_ms + 3000
