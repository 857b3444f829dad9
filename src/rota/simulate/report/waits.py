"""How long jobs waited: the share of them that had started after so much time."""

from __future__ import annotations

from collections.abc import Sequence

from rota.simulate.report.axes import log_axis, percent_axis
from rota.simulate.report.chart import Frame, chart, steps
from rota.simulate.report.distribution import cumulative
from rota.simulate.report.figure import figure
from rota.simulate.report.markup import Markup
from rota.simulate.report.runs import Run, legend, said_of_each, started
from rota.simulate.words import MINUTE_MS, counted, percent_text


def waits_figures(runs: Sequence[Run]) -> list[Markup]:
    waits_ms = [[start_ms - job.arrival_ms for job, start_ms in started(run.result)] for run in runs]
    if not any(waits_ms):
        return []
    frame = Frame(log_axis(max(max(waits, default=0) for waits in waits_ms)), percent_axis())
    pairs = [*zip(runs, waits_ms, strict=True)]
    said = said_of_each([(run, _said(run, waits)) for run, waits in pairs])
    drawn = figure(
        "Jobs started, by time waited",
        chart(
            frame,
            f"Share of jobs that started within a time. {said}",
            [steps(frame, cumulative(waits, _wanted(run), frame.x), run.style) for run, waits in pairs],
        ),
        said,
        legend(runs),
    )
    return [drawn]


def _said(run: Run, waits_ms: Sequence[int]) -> str:
    soon = sum(wait <= MINUTE_MS for wait in waits_ms) / max(_wanted(run), 1)
    never = _wanted(run) - len(waits_ms)
    left = f", {counted(never, 'job')} never" if never else ""
    return f"{percent_text(soon)} within a minute{left}"


def _wanted(run: Run) -> int:
    """Jobs that should have started: where some never did, the curve ends below 100 %."""
    return sum(job.start_ms is not None or not job.cancelled for job in run.result.jobs)
