"""The pictures of estimates, and that they say what the table says."""

from __future__ import annotations

from typing import Any

import pytest

from rota.simulate.metrics import metrics_of
from rota.simulate.report.bounds import bounds_figures
from rota.simulate.report.errors import error_figures
from rota.simulate.report.runs import runs_of
from rota.simulate.result import JobResult, SimResult
from rota.simulate.words import percent_text
from tests.unit.simulate.report.results import estimate, job, ms, result


def waited(name: str, hours: float, expected: float, bound: float, **fields: Any) -> JobResult:
    return job(name, start=hours, estimates=(estimate(expected, bound, latest=10),), **fields)


def day() -> SimResult:
    evicted = waited("evicted", 1, 1, 1)
    again = tuple(
        type(one)(one.rank, one.node, one.start_ms + ms(5), one.end_ms + ms(5)) for one in evicted.stretches
    )
    return result(
        waited("good", 2, 2.01, 2.5),
        waited("late", 3, 2, 2.5, queue="long", cpu_milli=8000),
        waited("early", 1, 1.1, 2),
        waited("at-once", 0, 0, 0),
        job("evicted", start=6, estimates=evicted.estimates, stretches=evicted.stretches + again),
        job("silent", start=4),
        job("never", start=None, estimates=(estimate(1, 2),)),
    )


@pytest.mark.covers("time-1")
def test_pictures_and_table_agree() -> None:
    told = day()
    metrics = metrics_of(told)
    assert metrics.bounds_held is not None
    assert metrics.within_1_min is not None
    assert metrics.within_10_min is not None
    (bounds,) = bounds_figures(runs_of([told]))
    expected, limits, by_wait = error_figures(runs_of([told]))
    assert f"{percent_text(metrics.bounds_held)} of {metrics.estimates} jobs." in bounds
    assert f"{percent_text(metrics.within_1_min)} within ±1 min" in expected
    assert f"{percent_text(metrics.within_10_min)} within ±10 min (4 jobs)" in expected
    assert "0.0\N{NO-BREAK SPACE}% within ±10 min" in limits
    assert by_wait.count("<circle") == 4


@pytest.mark.covers("time-1")
def test_bounds_by_class_of_size_and_queue() -> None:
    (drawn,) = bounds_figures(runs_of([day()]))
    for name in ("all jobs", "up to 1 CPU", "5–16 CPUs", "queue batch", "queue long"):
        assert f">{name}</text>" in drawn
    assert "2–4 CPUs" not in drawn, "there are none"
    assert ">0 %</text>" in drawn, "the only long one was late: the axis reaches down to it"


def test_many_jobs_are_a_band() -> None:
    many = [waited(f"j{number}", 1 + number / 100, 1, 2) for number in range(400)]
    *_, by_wait = error_figures(runs_of([result(*many)]))
    assert "<circle" not in by_wait
    assert 'class="band p0"' in by_wait


def test_without_estimates_there_are_no_pictures() -> None:
    for silent in (result(), result(job("a", start=1)), result(job("b", start=None))):
        assert bounds_figures(runs_of([silent])) == []
        assert error_figures(runs_of([silent])) == []


def test_of_two_policies_only_one_told_anything() -> None:
    runs = runs_of([result(job("a"), policy="mute"), result(*day().jobs, policy="open")])
    (bounds,) = bounds_figures(runs)
    assert "open: 80.0" in bounds
    assert "mute: " not in bounds
