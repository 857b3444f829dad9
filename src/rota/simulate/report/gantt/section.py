"""Which pictures of the nodes a result gets, and what each is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.model.ids import NodeName
from rota.simulate.report.axes import Axis, moment_axis
from rota.simulate.report.chart import plot, x_ticks
from rota.simulate.report.figure import figure, note
from rota.simulate.report.gantt.bars import Bar, bars_of
from rota.simulate.report.gantt.captions import announced_said, nodes_legend, nodes_said, promises_said
from rota.simulate.report.gantt.closeup import (
    Lanes,
    closeup_bars,
    closeup_promises,
    closeup_rows,
    lanes_by_node,
    select,
    shows_all,
)
from rota.simulate.report.gantt.overview import COLUMNS, overview_cells, overview_rows
from rota.simulate.report.gantt.promises import promise_strip
from rota.simulate.report.gantt.rows import Row, announced, labels_px, row_ground, row_label
from rota.simulate.report.gantt.tenants import Tenants
from rota.simulate.report.markup import Markup
from rota.simulate.report.runs import Run
from rota.simulate.result import SimResult
from rota.simulate.words import duration_text, moment_text

_LABELS_IN_OVERVIEW = 12
_MOST_TICKS = 11


@dataclass(frozen=True)
class _Picture:
    title: str
    caption: str
    axis: Axis
    rows: Sequence[Row]
    labelled: Sequence[Row]
    under: Sequence[Markup]
    """Under the grid."""
    over: Sequence[Markup]


def gantt_figures(run: Run, tenants: Tenants, span_ms: tuple[int, int]) -> list[Markup]:
    """`span_ms`: of all results, so that their pictures can be compared."""
    bars = bars_of(run.result)
    if not bars:
        return [] if run.is_alone else [note(f"{run.label}: nothing ran.")]
    # Nodes that a backend starts and stops again are not among those that there are at the end.
    nodes = tuple(dict.fromkeys((*run.result.nodes, *(bar.node for bar in bars))))
    lanes = lanes_by_node(nodes, bars)
    axis = _axis(*span_ms, run.result)
    if shows_all(lanes):
        pictures = [_everything(run, lanes, axis, tenants)]
    else:
        pictures = [_overview(run, nodes, bars, axis, tenants), _closeup(run, lanes, axis, tenants)]
    legend = nodes_legend(run.result, tenants)
    return [
        figure(picture.title, _drawn(picture), picture.caption, legend, wide=True) for picture in pictures
    ]


def _axis(low_ms: float, high_ms: float, result: SimResult) -> Axis:
    return moment_axis(low_ms, high_ms, result.epoch_ms, _MOST_TICKS)


def _drawn(picture: _Picture) -> Markup:
    height_px = round(picture.rows[-1].bottom_px)
    return plot(
        height_px,
        f"Nodes over time, {picture.title}. {picture.caption}",
        labels_px(picture.labelled),
        [
            *picture.under,
            *x_ticks(picture.axis, height_px),
            *map(row_label, picture.labelled),
            *picture.over,
        ],
    )


def _everything(run: Run, lanes: Lanes, axis: Axis, tenants: Tenants) -> _Picture:
    caption = (
        f"{nodes_said([*lanes], len(lanes))} and every task that ran, by {tenants.noun}."
        f"{announced_said(run.result)}{promises_said(run.result)}"
    )
    return _bars(run, run.label, caption, closeup_rows([*lanes], lanes), lanes, axis, tenants)


def _closeup(run: Run, lanes: Lanes, whole: Axis, tenants: Tenants) -> _Picture:
    selection = select(run.result, lanes, whole)
    axis = _axis(selection.start_ms, selection.end_ms, run.result)
    if (axis.low, axis.high) == (whole.low, whole.high):
        period = "the whole time"
    else:
        first, last = (moment_text(time_ms, run.result.epoch_ms) for time_ms in (axis.low, axis.high))
        period = f"{first} to {last}, around the longest queue"
    caption = f"{nodes_said(selection.nodes, len(lanes))}; {period}."
    rows = closeup_rows(selection.nodes, lanes)
    return _bars(run, f"{run.label}: a closer look", caption, rows, lanes, axis, tenants)


def _bars(
    run: Run, title: str, caption: str, rows: Sequence[Row], lanes: Lanes, axis: Axis, tenants: Tenants
) -> _Picture:
    return _Picture(
        title,
        f"{caption} Point at a bar to read about its job.",
        axis,
        rows,
        labelled=rows,
        under=[row_ground(row) for row in rows],
        over=[
            *closeup_bars(rows, lanes, axis, tenants, run.result.epoch_ms),
            *announced(run.result.calendar, rows, axis),
            *closeup_promises(rows, lanes, axis),
        ],
    )


def _overview(
    run: Run, nodes: Sequence[NodeName], bars: Sequence[Bar], axis: Axis, tenants: Tenants
) -> _Picture:
    result = run.result
    rows = overview_rows(nodes)
    together = max(len(row.nodes) for row in rows)
    shared = f" Up to {together} nodes share a row." if together > 1 else ""
    column = duration_text((axis.high - axis.low) / COLUMNS)
    return _Picture(
        run.label,
        f"{nodes_said(nodes, len(nodes))} and everything that ran ({len(bars):,} bars), merged to what a"
        f" screen can show: each cell, {column} wide, has the colour of the {tenants.noun} that used most of"
        f" it, and is the fainter the longer its nodes were idle.{shared}{announced_said(result)}"
        f"{promises_said(result)}",
        axis,
        rows,
        labelled=rows[:: -(-len(rows) // _LABELS_IN_OVERVIEW)],
        under=(),
        over=[
            overview_cells(bars, rows, axis, tenants),
            *announced(result.calendar, rows, axis),
            promise_strip(result, axis),
        ],
    )
