"""The comparison: a row a number, a column a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.simulate.measures import Measure, present
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.report.markup import Markup, element, joined
from rota.simulate.report.runs import Run


def comparison(runs: Sequence[Run]) -> Markup:
    measured = [metrics_of(run.result) for run in runs]
    body = [part for name, rows in present(measured).items() for part in _group(name, rows, measured)]
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


def _group(name: str, rows: Sequence[Measure], measured: Sequence[Metrics]) -> list[Markup]:
    heading = element("th", name, colspan=len(measured) + 1, scope="rowgroup")
    return [element("tr", heading, class_="group"), *(_drawn(row, measured) for row in rows)]


def _drawn(row: Measure, measured: Sequence[Metrics]) -> Markup:
    best = row.best_text(measured)
    cells = (_cell(text, best) for text in row.texts(measured))
    return element("tr", element("th", row.label, scope="row"), *cells)


def _cell(text: str | None, best: str | None) -> Markup:
    if text is None:
        return element("td", "–", class_="nothing", aria_label="nothing to measure")
    return element("td", text, class_="best" if text == best else None)
