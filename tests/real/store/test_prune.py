"""History: what has ended is removed by age and by number, and never what hasn't ended."""

from __future__ import annotations

import pytest

from rota.lifecycle.state import Phase
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.store.reading.queries import EventFilter, JobFilter
from rota.store.store import Store
from rota.store.writing.batch import Batch, ToldEstimate
from rota.store.writing.prune import History
from tests.stored import attempt, event, ids, job, keep

pytestmark = pytest.mark.covers("job-5")

NOW_MS = 1_000_000


def left(store: Store) -> list[str]:
    return ids(store.jobs(JobFilter(), None, 1000).jobs)


def test_forgotten_jobs_leave_with_all_that_is_theirs(store: Store) -> None:
    store.commit(
        Batch(
            jobs=[job("1", phase="failed", command=("own",), labels={"a": "b"}), job("2", phase="succeeded")],
            attempts=[attempt("1", 1, ended_ms=5)],
            estimates=[ToldEstimate(JobId("1"), Estimate(1, 2, 3))],
            events=[event("job.Ended", "1"), event("node.Cordoned", "1"), event("job.Ended", "2")],
        )
    )
    assert store.forget([JobId("1"), JobId("77"), JobId("x")], with_events=True) == ["1"]
    assert left(store) == ["2"]
    assert store.nodes_of(JobId("1")) == []
    assert store.estimates(JobId("1")) == []
    assert [one.row.kind for one in store.events(0)] == ["node.Cordoned", "job.Ended"]
    assert store.counts()[Phase.FAILED] == 0
    with store.connections.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM specs").scalar() == 1
        assert connection.exec_driver_sql("SELECT count(*) FROM labels").scalar() == 0


def test_events_stay_unless_they_are_to_go_too(store: Store) -> None:
    store.commit(Batch(jobs=[job("1", phase="failed")], events=[event("job.Ended", "1")]))
    store.forget([JobId("1")])
    assert len(store.events(0, 10, EventFilter(subject="1"))) == 1


def test_what_has_not_ended_is_not_forgotten(store: Store) -> None:
    keep(store, job("1", phase="running"))
    assert store.forget([JobId("1")]) == []
    assert left(store) == ["1"]


def test_a_spec_that_was_removed_is_written_again_when_needed(store: Store) -> None:
    keep(store, job("1", phase="succeeded", command=("once",)))
    store.forget([JobId("1")])
    keep(store, job("2", command=("once",)))
    assert store.job(JobId("2")) == job("2", command=("once",))


def test_jobs_leave_when_their_time_is_over(store: Store) -> None:
    keep(
        store,
        job("1", phase="succeeded", ended_ms=NOW_MS - 3600),
        job("2", phase="failed", ended_ms=NOW_MS - 3601),
        job("3", phase="timed-out", ended_ms=NOW_MS - 9999),
        job("4", phase="pending"),
    )
    assert store.prune(History(ttl_ms=3600), NOW_MS).jobs == ["2", "3"]
    assert left(store) == ["4", "1"]


@pytest.mark.covers("first-2")
def test_the_name_of_a_job_says_nothing_about_how_long_it_is_kept(store: Store) -> None:
    keep(store, *(job(str(number), name="make", phase="failed") for number in range(1, 8)))
    assert store.prune(History(ttl_ms=NOW_MS, at_least=1), NOW_MS).jobs == []


@pytest.mark.covers("first-2")
def test_so_many_stay_whatever_their_age_and_the_latest_at_that(store: Store) -> None:
    keep(store, *(job(str(number), phase="succeeded", ended_ms=number) for number in range(1, 8)))
    assert store.prune(History(ttl_ms=1, at_least=3), NOW_MS).jobs == ["1", "2", "3", "4"]
    assert store.prune(History(ttl_ms=1, at_least=3), NOW_MS).jobs == []


def test_more_than_so_many_are_never_kept(store: Store) -> None:
    keep(
        store,
        *(job(str(number), phase="succeeded", ended_ms=NOW_MS - number) for number in range(1, 8)),
        job("8", phase="running"),
    )
    assert store.prune(History(at_most=3), NOW_MS).jobs == ["4", "5", "6", "7"]
    assert store.prune(History(at_most=3), NOW_MS) == ([], True)


@pytest.mark.covers("first-2")
def test_what_was_removed_is_told_from_what_never_was(store: Store) -> None:
    keep(
        store,
        job("1", phase="failed", ended_ms=1),
        *(job(f"2.{index}", phase="failed", ended_ms=NOW_MS) for index in range(5)),
        job("7", phase="failed", ended_ms=2),
        job("8.0", phase="failed", ended_ms=2),
        job("8.1", phase="running"),
    )
    store.prune(History(ttl_ms=10), NOW_MS)
    removed = {"1", "7", "8.0"}
    never = {"2", "2.5", "3", "6", "8", "8.2", "9", "10", "10.1", "x"}
    assert {one for one in removed | never if store.was_removed(JobId(one))} == removed


@pytest.mark.covers("first-2")
def test_the_last_that_was_removed_is_still_known_once_all_are_gone(store: Store) -> None:
    keep(store, job("41", phase="failed", ended_ms=1))
    store.prune(History(ttl_ms=1), NOW_MS)
    assert store.was_removed(JobId("41"))
    assert not store.was_removed(JobId("42"))


def test_no_limits_remove_nothing(store: Store) -> None:
    keep(store, *(job(str(number), name="build", phase="failed", ended_ms=1) for number in range(1, 10)))
    assert store.prune(History(), NOW_MS).jobs == []


def test_steps_are_bounded_and_in_the_end_all_is_done(store: Store) -> None:
    keep(store, *(job(str(number), phase="succeeded", ended_ms=number) for number in range(1, 101)))
    steps = []
    while not (step := store.prune(History(ttl_ms=1, at_least=10), NOW_MS, at_most=7)).is_all:
        steps.append(len(step.jobs))
    assert max(steps) == 7
    assert len(left(store)) == 10
