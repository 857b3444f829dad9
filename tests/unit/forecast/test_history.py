"""Run times learnt from a record of past jobs."""

from __future__ import annotations

import pytest

from rota.forecast.history import run_times_of
from rota.forecast.run_times import RunTimeBook
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.policy import Defaults, PlatformDefaults
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.model.workload import ENDLESS_MS, RecordedEnd, SimJob

MINUTE = 60_000
HOUR = 60 * MINUTE

pytestmark = pytest.mark.covers("time-1")


def template(user: str = "ada", platform: str = "", cpu: int = 0) -> JobTemplate:
    spec = TaskSpec(requests=Resources(cpu_milli=1000 * cpu), platform=platform)
    return JobTemplate((TaskGroup(spec),), user=user, time_limit_ms=HOUR)


def ran(
    minutes: int,
    arrival: int = 0,
    outcome: RecordedEnd = RecordedEnd.COMPLETED,
    waited: int | None = None,
    of: JobTemplate | None = None,
) -> SimJob:
    job = Job(JobId(f"{arrival} {minutes}"), of or template())
    waited_ms = None if waited is None else waited * MINUTE
    return SimJob(job, arrival * MINUTE, minutes * MINUTE, outcome, waited_ms=waited_ms)


def learnt(*jobs: SimJob) -> set[int]:
    """In minutes, of jobs like those of the template."""
    return {ms // MINUTE for ms in RunTimeBook(run_times_of(jobs)).quantiles(template())}


def test_run_times_of_jobs_alike() -> None:
    assert learnt() == set()
    assert learnt(ran(10), ran(10, arrival=5)) == {10}


def last_two(*jobs: SimJob) -> list[tuple[int, ...]]:
    """In minutes, of each kind of job."""
    classes = run_times_of(jobs).classes.values()
    return [tuple(ms // MINUTE for ms in one.last_two) for one in classes if one.last_two]


def test_in_the_order_of_their_ends() -> None:
    assert last_two(ran(30), ran(5, arrival=1), ran(8, arrival=2)) == [(8, 30)]
    assert last_two(ran(1, waited=60), ran(2, arrival=1), ran(3, arrival=2)) == [(3, 1)]


def test_equal_ends_in_the_order_of_the_record() -> None:
    assert last_two(ran(3), ran(2, arrival=1), ran(1, arrival=2)) == [(2, 1)]


def test_a_job_that_was_cut_at_its_limit_takes_all_of_it() -> None:
    assert learnt(ran(61, outcome=RecordedEnd.TIMED_OUT)) == {60}
    assert learnt(ran(90)) == {60}


def test_one_that_was_cut_before_says_nothing() -> None:
    assert learnt(ran(20, outcome=RecordedEnd.TIMED_OUT)) == set()


@pytest.mark.parametrize("outcome", [RecordedEnd.FAILED, RecordedEnd.CANCELLED, RecordedEnd.UNKNOWN])
def test_whoever_leaves_early_leaves_its_place(outcome: RecordedEnd) -> None:
    assert learnt(ran(20, outcome=outcome)) == {20}


def test_jobs_that_never_ran_or_never_end_are_left_out() -> None:
    endless = SimJob(Job(JobId("endless"), template()), 0, ENDLESS_MS)
    assert learnt(ran(0, outcome=RecordedEnd.CANCELLED, waited=5), endless) == set()


def test_past_jobs_are_known_as_those_that_wait_are() -> None:
    defaults = Defaults(platforms=(("small", PlatformDefaults(requests=Resources(cpu_milli=2000))),))
    as_given = ran(10, of=template(platform="small"))
    [kind] = (key for key, one in run_times_of([as_given], defaults).classes.items() if one.last_two)
    assert kind.startswith("1×2000/")
