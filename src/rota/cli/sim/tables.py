"""Replays as tables for people: a row a number, a column a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.text import Text

from rota.cli.tables import GOOD, QUIET, heading, new_table
from rota.cli.wording import count_text
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.report.words import duration_text, percent_text
from rota.simulate.result import SimResult

_LABEL_WIDTH = 28
_LEAST_WIDTH = 14
_MOST_WIDTH = 24


def _count(count: float) -> str:
    return f"{count:,.0f}"


@dataclass(frozen=True)
class _Row:
    label: str
    value: Callable[[Metrics], float | None]
    """None: there is nothing to measure."""
    text: Callable[[float], str]
    best: Callable[[Sequence[float]], float] | None = None
    """None: neither more nor less is better."""


def _promises_kept(metrics: Metrics) -> float | None:
    return None if metrics.promises_kept is None else metrics.promises_kept / metrics.promises_given


_ROWS = (
    _Row("jobs started", lambda one: one.started, _count, max),
    _Row("utilisation", lambda one: one.utilisation, percent_text, max),
    _Row("GPU allocation", lambda one: one.gpu_allocation, percent_text, max),
    _Row("makespan", lambda one: one.makespan_ms, duration_text, min),
    _Row("mean wait", lambda one: one.mean_wait_ms, duration_text, min),
    _Row("median wait", lambda one: one.median_wait_ms, duration_text, min),
    _Row("95 % waited at most", lambda one: one.p95_wait_ms, duration_text, min),
    _Row("longest wait", lambda one: one.max_wait_ms, duration_text, min),
    _Row("mean bounded slowdown", lambda one: one.mean_bounded_slowdown, lambda value: f"{value:,.2f}", min),
    _Row("fairness (Jain)", lambda one: one.fairness, lambda value: f"{value:.3f}", max),
    _Row("preemptions", lambda one: one.preemptions, _count, min),
    _Row("promised starts", lambda one: one.promises_given or None, _count),
    _Row("promises kept", _promises_kept, percent_text, max),
    _Row("90 % bounds that held", lambda one: one.bounds_held, percent_text),
    _Row("expected within ±1 min *", lambda one: one.within_1_min, percent_text, max),
    _Row("expected within ±10 min *", lambda one: one.within_10_min, percent_text, max),
    _Row("median error *", lambda one: one.median_error_ms, duration_text, min),
    _Row("decisions", lambda one: one.cycles, _count),
)
_OF_ESTIMATES = "* of what was told on arrival to those who waited for over a minute"


def replay_tables(results: Sequence[SimResult]) -> Iterator[RenderableType]:
    first = results[0]
    jobs, nodes = count_text(len(first.jobs), "job"), count_text(len(first.nodes), "node")
    yield heading(f"{first.workload}: {jobs} on {nodes}")
    measured = [(result.policy, metrics_of(result)) for result in results]
    rows = [row for row in _ROWS if any(row.value(one) is not None for _, one in measured)]
    best = {row.label: _best(row, [one for _, one in measured]) for row in rows}
    width = max(_LEAST_WIDTH, *(min(len(name), _MOST_WIDTH) for name, _ in measured)) + 2
    fit = max(1, (Console().width - _LABEL_WIDTH) // width)
    for start in range(0, len(measured), fit):
        if start:
            yield ""
        yield _table(rows, measured[start : start + fit], best)
    if any(one.median_error_ms is not None for _, one in measured):
        yield Text(_OF_ESTIMATES, style=QUIET)


def _table(
    rows: Sequence[_Row], measured: Sequence[tuple[str, Metrics]], best: dict[str, str | None]
) -> RenderableType:
    table = new_table("measure")
    for name, _ in measured:
        table.add_column(name, justify="right", overflow="fold", max_width=_MOST_WIDTH)
    for row in rows:
        values = [row.value(one) for _, one in measured]
        texts = ["–" if value is None else row.text(value) for value in values]
        table.add_row(
            row.label, *(Text(text, style=GOOD if text == best[row.label] else "") for text in texts)
        )
    return table


def _best(row: _Row, measured: Sequence[Metrics]) -> str | None:
    """How the best of a row reads, if not all read the same."""
    found = [value for value in map(row.value, measured) if value is not None]
    if row.best is None or len(set(map(row.text, found))) < 2:
        return None
    return row.text(row.best(found))
