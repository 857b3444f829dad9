"""Faults of plugins, counted and remembered, and told of no more often than anybody wants to hear."""

from __future__ import annotations

import pytest

from rota.loop.hosting.fault_book import MOST_JOBS, MOST_OF_A_JOB, TOLD_AGAIN_MS, FaultBook
from rota.model.ids import JobId
from rota.model.plan import PluginFault

pytestmark = pytest.mark.covers("decide-18")


def fault(
    job: str = "1", error: str = "ValueError: no", plugin: str = "p", call: str = "filter"
) -> PluginFault:
    return PluginFault(plugin, call, error, JobId(job))


def test_errors_of_one_call_are_one_entry_with_the_latest() -> None:
    book = FaultBook()
    book.note([fault("1"), fault("2")], 10)
    book.note([fault("3", "KeyError: x")], 30)
    [tally] = book.of_plugin("p")
    assert (tally.count, tally.first_ms, tally.last_ms) == (3, 10, 30)
    assert (tally.latest.job, tally.latest.error) == ("3", "KeyError: x")


def test_calls_and_plugins_are_kept_apart() -> None:
    book = FaultBook()
    book.note([fault(), fault(call="score"), fault(plugin="q")], 0)
    assert [one.latest.call for one in book.of_plugin("p")] == ["filter", "score"]
    assert book.plugins == ["p", "q"]


def test_one_that_goes_on_is_told_again_after_a_while() -> None:
    book = FaultBook()
    book.note([fault()], 0)
    assert [one.untold for one in book.to_tell(0)] == [1]
    for now_ms in range(1, 5):
        book.note([fault()], now_ms)
        assert book.to_tell(now_ms) == []
    assert [one.untold for one in book.to_tell(TOLD_AGAIN_MS)] == [4]


def test_one_that_has_stopped_is_not_told_again() -> None:
    book = FaultBook()
    book.note([fault()], 0)
    book.to_tell(0)
    assert book.to_tell(10 * TOLD_AGAIN_MS) == []


def test_those_of_a_job_are_remembered_each_once() -> None:
    book = FaultBook()
    book.note([fault(), fault(), fault(error="other")], 0)
    assert [one.error for one in book.of_job(JobId("1"))] == ["ValueError: no", "other"]
    assert book.of_job(JobId("2")) == ()


def test_memory_is_bounded() -> None:
    book = FaultBook()
    book.note([fault(error=str(number)) for number in range(2 * MOST_OF_A_JOB)], 0)
    assert len(book.of_job(JobId("1"))) == MOST_OF_A_JOB
    book.note([fault(f"j{number}") for number in range(MOST_JOBS)], 1)
    assert book.of_job(JobId("1")) == ()
    assert book.of_job(JobId("j0"))
