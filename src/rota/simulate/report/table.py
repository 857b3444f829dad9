"""The comparison: a row a number, a column a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.report.markup import Markup, element, joined
from rota.simulate.report.runs import Run
from rota.simulate.report.words import duration_text, percent_text


def _count_text(count: float) -> str:
    return f"{count:,.0f}"


def _slowdown_text(slowdown: float) -> str:
    return f"{slowdown:,.2f}"


def _index_text(index: float) -> str:
    return f"{index:.3f}"


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


_GROUPS: dict[str, tuple[_Row, ...]] = {
    "Jobs": (
        _Row("arrived", lambda one: one.jobs, _count_text),
        _Row("started", lambda one: one.started, _count_text, max),
        _Row("evicted for others", lambda one: one.preemptions, _count_text, min),
    ),
    "Use of the cluster": (
        _Row("CPU time in use", lambda one: one.utilisation, percent_text, max),
        _Row("GPU time in use", lambda one: one.gpu_allocation, percent_text, max),
        _Row("first arrival to last end", lambda one: one.makespan_ms, duration_text, min),
    ),
    "Waits": (
        _Row("mean", lambda one: one.mean_wait_ms, duration_text, min),
        _Row("median", lambda one: one.median_wait_ms, duration_text, min),
        _Row("95 % waited at most", lambda one: one.p95_wait_ms, duration_text, min),
        _Row("longest", lambda one: one.max_wait_ms, duration_text, min),
        _Row("mean bounded slowdown", lambda one: one.mean_bounded_slowdown, _slowdown_text, min),
        _Row("fairness (Jain)", lambda one: one.fairness, _index_text, max),
    ),
    "What users were told": (
        _Row("promised starts", lambda one: one.promises_given or None, _count_text),
        _Row("of these kept", _promises_kept, percent_text, max),
        _Row("estimates on arrival", lambda one: one.estimates or None, _count_text),
        _Row("started by the 90 % bound", lambda one: one.bounds_held, percent_text),
        _Row("within ±1 min of expected*", lambda one: one.within_1_min, percent_text, max),
        _Row("within ±10 min of expected*", lambda one: one.within_10_min, percent_text, max),
        _Row("median error*", lambda one: one.median_error_ms, duration_text, min),
    ),
}


def comparison(runs: Sequence[Run]) -> Markup:
    measured = [metrics_of(run.result) for run in runs]
    body = [part for name, rows in _GROUPS.items() for part in _group(name, rows, measured)]
    names = (element("th", element("span", run.label), scope="col") for run in runs)
    head = element("thead", element("tr", element("td"), *names))
    table = element("table", head, element("tbody", *body))
    scrolling = element("div", table, class_="scroll", tabindex=0, role="group", aria_label="Numbers")
    return joined((scrolling, element("p", " ".join(_notes(measured)), class_="note small")))


def _notes(measured: Sequence[Metrics]) -> Iterator[str]:
    if len(measured) > 1:
        yield "Bold: the best of a row."
    if any(one.mean_bounded_slowdown is not None for one in measured):
        yield "In slowdowns, jobs of less than 10 s count as if they ran for so long."
    if any(one.fairness is not None for one in measured):
        yield "Fairness is Jain's index over the users' mean slowdowns: 1 if all are slowed down alike."
    if any(one.median_error_ms is not None for one in measured):
        yield "* Of the jobs that waited for over a minute."
    yield "Rows without anything to measure are left out."


def _group(name: str, rows: Sequence[_Row], measured: Sequence[Metrics]) -> list[Markup]:
    filled = [row for row in rows if any(row.value(one) is not None for one in measured)]
    if not filled:
        return []
    heading = element("th", name, colspan=len(measured) + 1, scope="rowgroup")
    return [element("tr", heading, class_="group"), *(_drawn(row, measured) for row in filled)]


def _drawn(row: _Row, measured: Sequence[Metrics]) -> Markup:
    values = [row.value(one) for one in measured]
    found = [value for value in values if value is not None]
    # What reads the same is equally good.
    best = row.text(row.best(found)) if row.best and len(set(map(row.text, found))) > 1 else None
    return element(
        "tr", element("th", row.label, scope="row"), *(_cell(row, value, best) for value in values)
    )


def _cell(row: _Row, value: float | None, best: str | None) -> Markup:
    if value is None:
        return element("td", "–", class_="nothing", aria_label="nothing to measure")
    text = row.text(value)
    return element("td", text, class_="best" if text == best else None)
