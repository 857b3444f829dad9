"""All nodes over all the time: cells as small as screens show, each in the colour of who used most of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rota.model.ids import NodeName
from rota.simulate.report.axes import Axis
from rota.simulate.report.gantt.bars import Bar
from rota.simulate.report.gantt.rows import Row
from rota.simulate.report.gantt.tenants import Tenants
from rota.simulate.report.markup import Markup, element

COLUMNS = 500
_MOST_ROWS = 120
_HEIGHT_PX = 360
_HIGHEST_ROW_PX = 24
_SHADES = 3
"""Up to a third, two thirds, and all of a cell's time in use: so many can be told apart."""

Numbers = NDArray[np.int64]
Amounts = NDArray[np.float64]


def overview_rows(nodes: Sequence[NodeName]) -> list[Row]:
    """As many as there are nodes; of very many nodes some that follow one another share a row."""
    count = min(len(nodes), _MOST_ROWS)
    height_px = min(_HIGHEST_ROW_PX, _HEIGHT_PX // count)
    edges = [len(nodes) * number // count for number in range(count + 1)]
    return [
        Row(tuple(nodes[first:last]), number * height_px, height_px)
        for number, (first, last) in enumerate(pairwise(edges))
    ]


def overview_cells(bars: Sequence[Bar], rows: Sequence[Row], axis: Axis, tenants: Tenants) -> Markup:
    node_number = {node: number for number, node in enumerate(node for row in rows for node in row.nodes)}
    row_of_node = np.array([number for number, row in enumerate(rows) for _ in row.nodes])
    drawn = [bar for bar in bars if bar.node in node_number and bar.end_ms > bar.start_ms]
    node = np.array([node_number[bar.node] for bar in drawn], np.int64)
    colour = np.array([tenants.number_of(bar.job) for bar in drawn], np.int64)
    scale = COLUMNS / (axis.high - axis.low)
    start = (np.array([bar.start_ms for bar in drawn], np.float64) - axis.low) * scale
    end = (np.array([bar.end_ms for bar in drawn], np.float64) - axis.low) * scale

    used = _covered(colour * len(rows) + row_of_node[node], start, end, tenants.count * len(rows))
    most = used.reshape(tenants.count, len(rows), COLUMNS).argmax(axis=0)
    busy_node, busy_start, busy_end = _busy(node, start, end)
    busy = _covered(row_of_node[busy_node], busy_start, busy_end, len(rows))
    nodes_in_row = np.array([len(row.nodes) for row in rows])[:, None]
    shade = np.ceil(np.round(busy / nodes_in_row, 6) * _SHADES).astype(int)
    return element(
        "svg",
        *_paths(most, shade, tenants),
        width="100%",
        height=rows[-1].bottom_px,
        viewBox=f"0 -0.5 {COLUMNS} {len(rows)}",
        preserveAspectRatio="none",
        class_="cells",
    )


def _covered(line: Numbers, start: Amounts, end: Amounts, lines: int) -> Amounts:
    """How much of each cell the periods cover, one on top of the other, by line and column."""
    start, end = np.clip(start, 0, COLUMNS), np.clip(end, 0, COLUMNS)
    first = np.minimum(start.astype(np.int64), COLUMNS - 1)
    last = np.minimum(end.astype(np.int64), COLUMNS - 1)
    covered = np.zeros((lines, COLUMNS))
    # Whole cells from the first to the one before the last, less what lies before the start, and
    # the part of the last one.
    change = np.zeros((lines, COLUMNS))
    np.add.at(change, (line, first), 1)
    np.add.at(change, (line, last), -1)
    np.add.at(covered, (line, first), first - start)
    np.add.at(covered, (line, last), end - last)
    covered += change.cumsum(axis=1)
    return covered


def _busy(node: Numbers, start: Amounts, end: Amounts) -> tuple[Numbers, Amounts, Amounts]:
    """The periods in which a node runs anything at all: periods that touch become one."""
    if not len(node):
        return node, start, end
    # Nodes are laid end to end, far enough apart not to touch.
    apart = float(end.max() - min(start.min(), 0) + 1)
    order = np.lexsort((start, node))
    node, laid_start, laid_end = node[order], (start + node * apart)[order], (end + node * apart)[order]
    reached = np.maximum.accumulate(laid_end)
    begins = np.concatenate(([True], laid_start[1:] > reached[:-1]))
    ends = np.concatenate((begins[1:], [True]))
    return node[begins], laid_start[begins] - node[begins] * apart, reached[ends] - node[begins] * apart


def _paths(most: Numbers, shade: Numbers, tenants: Tenants) -> Iterator[Markup]:
    look = np.where(shade > 0, most * (_SHADES + 1) + shade, -1)
    parts: dict[int, list[str]] = {}
    for row, cells in enumerate(look):
        edges = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), COLUMNS]
        for first, last in pairwise(edges):
            if cells[first] >= 0:
                parts.setdefault(int(cells[first]), []).append(f"M{first} {row}h{last - first}")
    for code in sorted(parts):
        tenant, depth = divmod(code, _SHADES + 1)
        yield element("path", d="".join(parts[code]), class_=f"{tenants.style(tenant)} shade{depth}")
