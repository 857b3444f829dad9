"""History: what has ended is removed by age and by number of runs, and never what hasn't ended."""

from __future__ import annotations

import pytest

from rota.lifecycle.state import Phase
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.store import prune
from rota.store.batch import Batch, ToldEstimate
from rota.store.prune import History
from rota.store.queries import EventFilter, JobFilter
from rota.store.store import Store
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


def test_so_many_runs_of_the_same_name_stay_and_the_latest_at_that(store: Store) -> None:
    keep(
        store,
        *(job(str(number), name="build", phase="succeeded") for number in range(1, 8)),
        *(job(str(number), name="build", phase="failed") for number in range(8, 11)),
        job("11", name="build", phase="cancelled"),
        job("12", name="build", phase="running"),
        job("13", name="build", phase="succeeded", project="other"),
        *(job(str(number), name="test", phase="succeeded") for number in range(14, 17)),
    )
    removed = store.prune(History(keep_succeeded=3, keep_failed=1), NOW_MS).jobs
    assert sorted(removed, key=int) == ["1", "2", "3", "4", "8", "9", "10"]
    assert store.prune(History(keep_succeeded=3, keep_failed=1), NOW_MS).jobs == []


def test_keeping_none_removes_all(store: Store) -> None:
    keep(store, *(job(str(number), name="build", phase="succeeded") for number in range(1, 4)))
    assert store.prune(History(keep_succeeded=0), NOW_MS).jobs == ["1", "2", "3"]


def test_jobs_without_a_name_are_no_runs_of_the_same(store: Store) -> None:
    keep(store, *(job(str(number), phase="succeeded") for number in range(1, 10)))
    assert store.prune(History(keep_succeeded=0, keep_failed=0), NOW_MS).jobs == []


def test_an_array_is_one_run(store: Store) -> None:
    for number in (1, 10, 20):
        keep(store, *(job(f"{number}.{index}", name="sweep", phase="succeeded") for index in range(5)))
    assert store.prune(History(keep_succeeded=2), NOW_MS).jobs == ["1.0", "1.1", "1.2", "1.3", "1.4"]


def test_no_limits_remove_nothing(store: Store) -> None:
    keep(store, *(job(str(number), name="build", phase="failed", ended_ms=1) for number in range(1, 10)))
    assert store.prune(History(), NOW_MS).jobs == []


def test_steps_are_bounded_and_in_the_end_all_is_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "GROUPS_PER_STEP", 2)
    keep(
        store,
        *(
            job(str(number), name=f"n{number % 5}", phase="succeeded", project=f"p{number % 2}")
            for number in range(1, 101)
        ),
    )
    steps = [store.prune(History(keep_succeeded=1), NOW_MS, at_most=7).jobs for _ in range(60)]
    assert max(map(len, steps)) <= 7
    assert len(left(store)) == 10
