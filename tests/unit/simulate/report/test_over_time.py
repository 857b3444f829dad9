from __future__ import annotations

import re

from rota.simulate.report.over_time import over_time_figures
from rota.simulate.report.runs import runs_of
from rota.simulate.result import Sample
from tests.unit.simulate.report.results import job, ms, result


def paths(figure: str) -> list[str]:
    return re.findall(r'd="(M[^"]*)" class="curve p0"', figure)


def test_few_samples_are_drawn_as_they_are() -> None:
    samples = [Sample(0, 0, 0, 0, 0), Sample(ms(1), 4, 1, 4000, 0), Sample(ms(3), 0, 1, 8000, 0)]
    waiting, cpus = over_time_figures(runs_of([result(job("a", hours=4), samples=samples)]))
    assert paths(waiting) == ["M0 220H250V0H750V220H1000"]
    assert paths(cpus) == ["M0 220H250V110H750V0H1000"]
    assert "2.0 on average, at most 4." in waiting
    assert "mean over" not in waiting


def test_many_samples_become_means_that_keep_the_area() -> None:
    samples = [Sample(ms(number / 10), number % 2 * 10, 0, 0, 0) for number in range(1001)]
    (waiting, _) = over_time_figures(runs_of([result(job("a", hours=100), samples=samples)]))
    assert "Each step is the mean over 30\N{NO-BREAK SPACE}min." in waiting
    assert "5.0 on average, at most 10." in waiting
    assert len(waiting) < 10_000


def test_gpus_are_shown_where_there_are_any() -> None:
    samples = [Sample(0, 0, 1, 0, 500), Sample(ms(1), 0, 0, 0, 0)]
    without = over_time_figures(runs_of([result(job("a"), samples=samples)]))
    shown = over_time_figures(runs_of([result(job("a"), samples=samples, gpu_milli=1000)]))
    assert len(without) == 2
    assert "GPUs in use" in shown[2]
    assert "at most 50.0\N{NO-BREAK SPACE}%" in shown[2]


def test_a_run_without_samples_beside_one_that_has_some() -> None:
    assert len(over_time_figures(runs_of([result(policy="a"), result(job("j"), policy="b")]))) == 2
    assert over_time_figures(runs_of([result()])) == []


def test_a_replay_that_lasts_no_time() -> None:
    instant = result(job("a", hours=0), samples=[Sample(0, 1, 0, 0, 0)])
    assert "1.0 on average, at most 1." in over_time_figures(runs_of([instant]))[0]
