"""How far off the expected starts were that users were told when they submitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.simulate.report.axes import log_axis, percent_axis, signed_axis
from rota.simulate.report.chart import Frame, Points, band, chart, dot, line, rule, steps
from rota.simulate.report.distribution import cumulative
from rota.simulate.report.figure import figure
from rota.simulate.report.markup import Markup
from rota.simulate.report.runs import Run, foretold, legend, said_of_each
from rota.simulate.words import MINUTE_MS, counted, percent_text

_WAITED_MS = MINUTE_MS
"""Shorter waits are easy to foresee: they would make every estimate look good."""
_BINS_A_DECADE = 4
_FEWEST_IN_BIN = 5
_MOST_DOTS = 300


@dataclass(frozen=True)
class _Errors:
    """Of the jobs that waited long enough; an error is positive where a job started later than told."""

    run: Run
    waited_ms: tuple[int, ...]
    expected_ms: tuple[int, ...]
    limits_ms: tuple[int, ...]
    """Of the start by the limits alone, where there was one."""


def error_figures(runs: Sequence[Run]) -> list[Markup]:
    told = [one for one in map(_errors, runs) if one.expected_ms]
    if not told:
        return []
    drawn = [_sizes_figure(told, "Error of the expected start", [one.expected_ms for one in told])]
    by_limits = [one for one in told if one.limits_ms]
    if by_limits:
        title = "Error of an estimate from the time limits alone"
        drawn.append(_sizes_figure(by_limits, title, [one.limits_ms for one in by_limits]))
    return drawn + [_by_wait_figure(one) for one in told]


def _errors(run: Run) -> _Errors:
    told = [
        (job.estimates[0], job.arrival_ms, start_ms)
        for job, start_ms in foretold(run.result)
        if start_ms - job.arrival_ms > _WAITED_MS
    ]
    return _Errors(
        run,
        tuple(start_ms - arrival_ms for _, arrival_ms, start_ms in told),
        tuple(start_ms - first.expected_ms for first, _, start_ms in told),
        tuple(start_ms - first.latest_ms for first, _, start_ms in told if first.latest_ms is not None),
    )


def _sizes_figure(told: Sequence[_Errors], title: str, errors_ms: Sequence[Sequence[int]]) -> Markup:
    runs = [one.run for one in told]
    sizes_ms = [[abs(error) for error in some] for some in errors_ms]
    frame = Frame(log_axis(max(map(max, sizes_ms))), percent_axis())
    said = said_of_each([*zip(runs, map(_said, sizes_ms), strict=True)])
    return figure(
        title,
        chart(
            frame,
            f"{title}: share of jobs with at most such an error. {said}",
            [
                steps(frame, cumulative(sizes, len(sizes), frame.x), run.style)
                for run, sizes in zip(runs, sizes_ms, strict=True)
            ],
            [rule(frame.x, limit_ms, frame.height) for limit_ms in (MINUTE_MS, 10 * MINUTE_MS)],
        ),
        f"Of jobs that waited for over a minute, the share with at most such an error either way. {said}",
        legend(runs),
    )


def _said(sizes_ms: Sequence[int]) -> str:
    soon, late = (percent_text(_share(sizes_ms, limit_ms)) for limit_ms in (MINUTE_MS, 10 * MINUTE_MS))
    return f"{soon} within ±1 min, {late} within ±10 min ({counted(len(sizes_ms), 'job')})"


def _share(sizes_ms: Sequence[int], limit_ms: int) -> float:
    return sum(size <= limit_ms for size in sizes_ms) / len(sizes_ms)


def _by_wait_figure(errors: _Errors) -> Markup:
    title = "Error of the expected start, by time waited"
    across = log_axis(max(errors.waited_ms), shortest_ms=_WAITED_MS)
    style = errors.run.style
    if len(errors.waited_ms) <= _MOST_DOTS:
        frame = Frame(across, signed_axis(max(map(abs, errors.expected_ms))))
        canvas = []
        beside = [dot(frame, *one, style) for one in zip(errors.waited_ms, errors.expected_ms, strict=True)]
        shown = "Each dot is a job."
    else:
        low, middle, high = _quantiles(errors)
        frame = Frame(across, signed_axis(max((abs(y) for _, y in (*low, *high)), default=0)))
        canvas = [band(frame, high, low, style), line(frame, middle, f"solid {style}")]
        beside = []
        shown = (
            "The line is the median; eight tenths of the jobs lie in the band."
            f" Where fewer than {_FEWEST_IN_BIN} jobs waited about as long, nothing is drawn."
        )
    return figure(
        title if errors.run.is_alone else f"{title}: {errors.run.label}",
        chart(frame, f"{title}, {errors.run.label}. {shown}", canvas, beside, left=68),
        f"Above 0: started later than told. {shown}",
    )


def _quantiles(errors: _Errors) -> tuple[Points, Points, Points]:
    waited, error = np.asarray(errors.waited_ms, float), np.asarray(errors.expected_ms, float)
    bins = np.floor(np.log10(waited) * _BINS_A_DECADE).astype(int)
    points: tuple[list[tuple[float, float]], ...] = ([], [], [])
    for number in np.unique(bins):
        inside = bins == number
        if inside.sum() < _FEWEST_IN_BIN:
            continue
        middle_ms = float(np.median(waited[inside]))
        for some, quantile in zip(points, np.quantile(error[inside], (0.1, 0.5, 0.9)), strict=True):
            some.append((middle_ms, float(quantile)))
    return points[0], points[1], points[2]
