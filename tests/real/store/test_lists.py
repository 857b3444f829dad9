"""Pages of jobs and events: every filter, alone and together, whatever index the page is read along."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId
from rota.store.errors import BadCursor, StoreCorrupt
from rota.store.reading import scan
from rota.store.reading.queries import EventFilter, JobFilter
from rota.store.sql.tables import RoughPhase
from rota.store.store import Store
from rota.store.writing.batch import Batch
from tests.stored import event, ids, job, keep

PHASES = [phase.value for phase in Phase]


def mixed_jobs() -> list[JobState]:
    """All combinations of what one can filter by, old and new, with an array in the middle."""
    jobs = [
        job(
            str(number),
            project=f"p{number % 3}",
            user=f"u{number % 5}",
            queue="late" if number > 60 else f"q{number % 2}",
            name=f"n{number % 4}" if number % 4 else "",
            phase=PHASES[number % 8],
            labels={"parity": "even" if number % 2 == 0 else "odd", "seven": str(number % 7)},
            submitted_ms=1000 * number,
        )
        for number in range(1, 121)
        if number != 50
    ]
    elements = [job(f"50.{index}", project="p1", phase="failed", submitted_ms=50_000) for index in range(12)]
    return jobs[:49] + elements + jobs[49:]


def walk(store: Store, wanted: JobFilter, limit: int) -> list[str]:
    found: list[str] = []
    after = None
    for _ in range(1000):
        page = store.jobs(wanted, after, limit)
        assert len(page.jobs) <= limit
        found += ids(page.jobs)
        if page.next is None:
            return found
        after = page.next
    raise AssertionError("it never ends")


Expected = Callable[[JobState], bool]

FILTERS: dict[str, tuple[JobFilter, Expected]] = {
    "all": (JobFilter(), lambda one: True),
    "project": (JobFilter(projects=("p1",)), lambda one: one.spec.template.project == "p1"),
    "projects": (
        JobFilter(projects=("p1", "p0")),
        lambda one: one.spec.template.project in ("p1", "p0"),
    ),
    "more projects than are read side by side": (
        JobFilter(projects=("p2", *(f"none{at}" for at in range(60)))),
        lambda one: one.spec.template.project == "p2",
    ),
    "no project": (JobFilter(projects=()), lambda one: False),
    "user": (JobFilter(users=("u3",)), lambda one: one.spec.template.user == "u3"),
    "queue": (JobFilter(queues=("late",)), lambda one: one.spec.template.queue == "late"),
    "phase": (JobFilter(phases=(Phase.RUNNING,)), lambda one: one.phase is Phase.RUNNING),
    "phases of two outcomes": (
        JobFilter(phases=(Phase.PENDING, Phase.FAILED)),
        lambda one: one.phase in (Phase.PENDING, Phase.FAILED),
    ),
    "user and phase": (
        JobFilter(users=("u1",), phases=(Phase.CANCELLED,)),
        lambda one: one.spec.template.user == "u1" and one.phase is Phase.CANCELLED,
    ),
    "name": (JobFilter(name="n2"), lambda one: one.spec.name == "n2"),
    "name and project": (
        JobFilter(name="n2", projects=("p1",)),
        lambda one: one.spec.name == "n2" and one.spec.template.project == "p1",
    ),
    "unknown name": (JobFilter(name="nobody"), lambda one: False),
    "label": (
        JobFilter(labels=(("parity", "odd"),)),
        lambda one: ("parity", "odd") in one.spec.template.labels,
    ),
    "labels": (
        JobFilter(labels=(("parity", "odd"), ("seven", "3"))),
        lambda one: {("parity", "odd"), ("seven", "3")} <= set(one.spec.template.labels),
    ),
    "unknown label": (JobFilter(labels=(("parity", "neither"),)), lambda one: False),
    "array": (JobFilter(array=50), lambda one: one.id.startswith("50.")),
    "no array": (JobFilter(array=51), lambda one: False),
    "from": (JobFilter(submitted_from_ms=80_000), lambda one: one.submitted_ms >= 80_000),
    "before": (JobFilter(submitted_before_ms=50_000), lambda one: one.submitted_ms < 50_000),
    "period": (
        JobFilter(submitted_from_ms=40_000, submitted_before_ms=60_000, projects=("p1",)),
        lambda one: 40_000 <= one.submitted_ms < 60_000 and one.spec.template.project == "p1",
    ),
    "a period to come": (JobFilter(submitted_from_ms=10**9), lambda one: False),
    "ids": (
        JobFilter(ids=(JobId("3"), JobId("50.2"), JobId("999"), JobId("x"), JobId("9"))),
        lambda one: one.id in ("3", "50.2", "9"),
    ),
    "ids and project": (
        JobFilter(ids=(JobId("3"), JobId("50.2"), JobId("9")), projects=("p1",)),
        lambda one: one.id == "50.2",
    ),
    "never together": (JobFilter(queues=("late",), submitted_before_ms=60_000), lambda one: False),
    "everything": (
        JobFilter(
            projects=("p0", "p1"),
            users=("u1", "u2"),
            queues=("late",),
            labels=(("parity", "odd"),),
            name="n3",
        ),
        lambda one: (
            one.spec.template.project in ("p0", "p1")
            and one.spec.template.user in ("u1", "u2")
            and one.spec.template.queue == "late"
            and ("parity", "odd") in one.spec.template.labels
            and one.spec.name == "n3"
        ),
    ),
}


@pytest.mark.parametrize("effort", [scan.EFFORT, scan.MAX_STRETCHES])
def test_every_filter_finds_all_it_admits_newest_first(
    store: Store, effort: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little effort a page, pages end early: what they say is next must lose nothing."""
    monkeypatch.setattr(scan, "EFFORT", effort)
    jobs = mixed_jobs()
    keep(store, *jobs)
    newest_first = list(reversed(jobs))
    for name, (wanted, admits) in FILTERS.items():
        expected = [str(one.id) for one in newest_first if admits(one)]
        for limit in (7, 1000):
            assert walk(store, wanted, limit) == expected, (name, limit)


def test_a_page_ends_when_its_effort_is_spent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "EFFORT", 10 * len(RoughPhase))
    keep(store, *(job(str(number), user="ada", queue="a") for number in range(1, 101)))
    keep(store, *(job(str(number), user="eve", queue="b") for number in range(101, 201)))
    page = store.jobs(JobFilter(users=("ada",), queues=("b",)), None, 5)
    assert page == ([], "91"), "the ten newest of ada get further back than the ten newest of the queue"


def test_new_jobs_do_not_shift_the_pages_after(store: Store) -> None:
    keep(store, *(job(str(number)) for number in range(1, 7)))
    page = store.jobs(JobFilter(), None, 3)
    keep(store, job("7"), job("8"))
    assert ids(page.jobs) == ["6", "5", "4"]
    assert ids(store.jobs(JobFilter(), page.next, 3).jobs) == ["3", "2", "1"]


@pytest.mark.parametrize("after", ["", "x", "-1", "01", "1.", "99999999999999999999", "1.99999999"])
@pytest.mark.covers("ops-3")
def test_a_cursor_that_is_none_is_refused(store: Store, after: str) -> None:
    with pytest.raises(BadCursor, match="page"):
        store.jobs(JobFilter(), after, 3)


def test_a_job_is_found_by_its_exact_id(store: Store) -> None:
    keep(store, job("3"), job("4.0"))
    assert store.job(JobId("3")) == job("3")
    assert store.job(JobId("4.0")) == job("4.0")
    assert [store.job(JobId(id_)) for id_ in ("4", "4.1", "03", "x", "", "3.0", "9" * 30)] == [None] * 7


def test_a_job_that_cannot_be_read_says_so(store: Store) -> None:
    keep(store, job("3"))
    with store.connections.write() as connection:
        connection.exec_driver_sql("UPDATE specs SET body = '{'")
    with pytest.raises(StoreCorrupt, match="job 3 can't be read"):
        store.job(JobId("3"))


def test_jobs_of_an_array_by_index(store: Store) -> None:
    keep(store, *(job(f"5.{index}") for index in (10, 2, 0)), job("6"), job("5"))
    assert ids(store.jobs_of_array(5)) == ["5.0", "5.2", "5.10"]
    assert store.jobs_of_array(6) == []


def test_events_by_kind_subject_and_project(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "EFFORT", 10)
    rows = [
        event(
            f"job.{('Started', 'Ended', 'Held')[at % 3]}",
            str(at % 7),
            (None, "p1", "p2", "p3")[at % 4],
            at=at,
        )
        for at in range(200)
    ]
    rows[150] = event("node.Cordoned", "n1")
    store.commit(Batch(events=rows))
    filters = [
        EventFilter(),
        EventFilter(kinds=("job.Held",)),
        EventFilter(kinds=("job.Held", "node.Cordoned")),
        EventFilter(subject="3"),
        EventFilter(projects=("p1", "p3")),
        EventFilter(projects=()),
        EventFilter(kinds=("job.Ended",), subject="5", projects=("p2",)),
        EventFilter(kinds=("node.Cordoned",), projects=("p2",)),
        EventFilter(kinds=("node.Cordoned",), subject="n1"),
    ]
    for wanted in filters:
        expected = [seq for seq, row in enumerate(rows, 1) if wanted.admits(row)]
        found: list[int] = []
        while page := store.events(found[-1] if found else 0, 4, wanted):
            found += [one.seq for one in page]
        assert found == expected, wanted
        for count in (1, 4, 1000):
            assert [one.seq for one in store.latest_events(count, wanted)] == expected[-count:], wanted
    assert store.events(200) == []
