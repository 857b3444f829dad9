"""Queue length and utilisation over time, all policies in one picture each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rota.simulate.report.axes import count_axis, moment_axis, percent_axis, round_duration_ms
from rota.simulate.report.chart import Frame, Points, chart, steps
from rota.simulate.report.figure import figure
from rota.simulate.report.markup import Markup
from rota.simulate.report.runs import Run, legend, said_of_each, span_ms
from rota.simulate.result import Sample, SimResult
from rota.simulate.words import duration_text, percent_text

_MOST_STEPS = 240
"""More can't be told apart where several lines cross."""

Value = Callable[[SimResult, Sample], float]


@dataclass(frozen=True)
class _Curve:
    run: Run
    points: Points
    mean: float
    largest: float


def over_time_figures(runs: Sequence[Run]) -> list[Markup]:
    if not any(run.result.samples for run in runs):
        return []
    figures = [
        _figure(runs, "Jobs waiting", _waiting, as_percent=False),
        _figure(runs, "CPUs in use", _cpus, as_percent=True),
    ]
    if any(run.result.gpu_milli for run in runs):
        figures.append(_figure(runs, "GPUs in use", _gpus, as_percent=True))
    return figures


def _waiting(result: SimResult, sample: Sample) -> float:
    return sample.waiting


def _cpus(result: SimResult, sample: Sample) -> float:
    return sample.cpu_milli / result.cpu_milli if result.cpu_milli else 0


def _gpus(result: SimResult, sample: Sample) -> float:
    return sample.gpu_milli / result.gpu_milli if result.gpu_milli else 0


def _figure(runs: Sequence[Run], title: str, value: Value, as_percent: bool) -> Markup:
    low_ms, high_ms = span_ms([run.result for run in runs])
    most = max(len(run.result.samples) for run in runs)
    step_ms = round_duration_ms((high_ms - low_ms) / _MOST_STEPS) if most > _MOST_STEPS else None
    curves = [_curve(run, value, step_ms) for run in runs]
    frame = Frame(
        moment_axis(low_ms, high_ms, runs[0].result.epoch_ms),
        percent_axis() if as_percent else count_axis(max(y for one in curves for _, y in one.points)),
    )
    said = said_of_each([(one.run, _said(one, as_percent)) for one in curves])
    caption = f"Each step is the mean over {duration_text(step_ms)}. " if step_ms else ""
    return figure(
        title,
        chart(
            frame, f"{title} over time. {said}", [steps(frame, one.points, one.run.style) for one in curves]
        ),
        f"{caption}{said}",
        legend(runs),
    )


def _said(curve: _Curve, as_percent: bool) -> str:
    if as_percent:
        return f"at most {percent_text(curve.largest)}"
    return f"{curve.mean:,.1f} on average, at most {curve.largest:,.0f}"


def _curve(run: Run, value: Value, step_ms: int | None) -> _Curve:
    samples = run.result.samples
    if not samples:
        return _Curve(run, ((0, 0),), 0, 0)
    _, end_ms = span_ms([run.result])
    times = np.array([*(sample.time_ms for sample in samples), max(end_ms, samples[-1].time_ms)], float)
    values = np.array([value(run.result, sample) for sample in samples], float)
    held_ms = np.diff(times)
    mean = float(np.average(values, weights=held_ms)) if held_ms.sum() else float(values[-1])
    points = _means(times, values, step_ms) if step_ms else [*zip(times, [*values, values[-1]], strict=True)]
    return _Curve(run, points, mean, float(values.max()))


def _means(times: np.ndarray, values: np.ndarray, step_ms: int) -> Points:
    """The mean of each step, weighted by time."""
    area = np.concatenate(([0.0], np.cumsum(values * np.diff(times))))
    edges = np.arange(times[0], times[-1], step_ms, dtype=float)
    edges = np.append(edges, times[-1])
    means = np.diff(np.interp(edges, times, area)) / np.maximum(np.diff(edges), 1)
    return [*zip(edges.tolist(), [*means.tolist(), float(means[-1])], strict=True)]
