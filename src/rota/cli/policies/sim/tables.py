"""Replays as tables for people: a row a number, a column a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.cli.tables import GOOD, QUIET, Shown, heading, new_table
from rota.cli.text import Text, terminal_width
from rota.simulate.measures import Measure, present
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.result import SimResult
from rota.views.wording import count_text

_LABEL_WIDTH = 28
_PIPE_WIDTH = 10_000
"""Where there is no terminal, all policies are side by side."""
_LEAST_WIDTH = 14
_MOST_WIDTH = 24


_OF_ESTIMATES = "* of estimates made on arrival, for jobs that waited for more than a minute"


def replay_tables(results: Sequence[SimResult]) -> Iterator[Shown]:
    first = results[0]
    jobs, nodes = count_text(len(first.jobs), "job"), count_text(len(first.nodes), "node")
    yield heading(f"{first.workload}: {jobs} on {nodes}")
    measured = [(result.policy, metrics_of(result)) for result in results]
    everybody = [one for _, one in measured]
    rows = [one for measures in present(everybody).values() for one in measures]
    best = {row.label: row.best_text(everybody) for row in rows}
    width = max(_LEAST_WIDTH, *(min(len(name), _MOST_WIDTH) for name, _ in measured)) + 2
    fit = max(1, ((terminal_width() or _PIPE_WIDTH) - _LABEL_WIDTH) // width)
    for start in range(0, len(measured), fit):
        if start:
            yield ""
        yield _table(rows, measured[start : start + fit], best)
    if any(one.median_error_ms is not None for _, one in measured):
        yield Text(_OF_ESTIMATES, style=QUIET)


def _table(
    rows: Sequence[Measure], measured: Sequence[tuple[str, Metrics]], best: dict[str, str | None]
) -> Shown:
    table = new_table("measure")
    for name, _ in measured:
        table.add_column(name, right=True, at_most=_MOST_WIDTH)
    for row in rows:
        texts = [text or "–" for text in row.texts([one for _, one in measured])]
        table.add_row(
            row.label, *(Text(text, style=GOOD if text == best[row.label] else "") for text in texts)
        )
    return table
