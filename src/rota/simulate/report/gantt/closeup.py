"""Every bar of some nodes in some period, with what is known of its job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.model.ids import NodeName
from rota.simulate.report.axes import Axis
from rota.simulate.report.gantt.bars import Bar, lanes_of
from rota.simulate.report.gantt.promises import promise_mark
from rota.simulate.report.gantt.rows import Row, overlaps, placed_across
from rota.simulate.report.gantt.tenants import Tenants
from rota.simulate.report.markup import Markup, element, short
from rota.simulate.result import SimResult
from rota.simulate.words import counted, duration_text, moment_text

_HEIGHT_PX = 560
_LANE_PX = (4, 14)
"""The lowest and the highest that a lane is."""
_LOWEST_ROW_PX = 13
_GAP_PX = 2
MOST_BARS = 1000
MOST_NODES = 40
_MOST_LANES = _HEIGHT_PX // _LANE_PX[0]

Lanes = dict[NodeName, tuple[tuple[Bar, ...], ...]]


@dataclass(frozen=True)
class Selection:
    nodes: tuple[NodeName, ...]
    start_ms: float
    end_ms: float


def lanes_by_node(nodes: Sequence[NodeName], bars: Sequence[Bar]) -> Lanes:
    by_node: defaultdict[NodeName, list[Bar]] = defaultdict(list)
    for bar in bars:
        by_node[bar.node].append(bar)
    return {node: lanes_of(by_node[node]) for node in nodes}


def shows_all(lanes: Lanes) -> bool:
    """Whether there is room for everything."""
    bars = sum(len(lane) for some in lanes.values() for lane in some)
    return len(lanes) <= MOST_NODES and bars <= MOST_BARS and sum(map(len, lanes.values())) <= _MOST_LANES


def select(result: SimResult, lanes: Lanes, whole: Axis) -> Selection:
    """Nodes from all over the list, and around the longest queue as long a period as there is room for."""
    names = [*lanes]
    count = min(len(names), MOST_NODES // 2)
    while count > 1 and sum(len(lanes[node]) for node in _spread(names, count)) > _MOST_LANES:
        count -= 1
    nodes = _spread(names, count)
    bars = [bar for node in nodes for lane in lanes[node] for bar in lane]
    peak_ms = max(result.samples, key=lambda sample: sample.waiting).time_ms if result.samples else whole.low
    span_ms = whole.high - whole.low
    while True:
        start_ms = max(whole.low, min(peak_ms - span_ms / 2, whole.high - span_ms))
        end_ms = start_ms + span_ms
        inside = sum(bar.start_ms < end_ms and bar.end_ms > start_ms for bar in bars)
        if inside <= MOST_BARS or span_ms <= 1:
            return Selection(tuple(nodes), start_ms, end_ms)
        span_ms /= 2


def _spread(names: Sequence[NodeName], count: int) -> list[NodeName]:
    return [names[len(names) * number // count] for number in range(count)]


def closeup_rows(nodes: Sequence[NodeName], lanes: Lanes) -> list[Row]:
    lane_px = _lane_px(nodes, lanes)
    rows: list[Row] = []
    for node in nodes:
        top_px = rows[-1].bottom_px + _GAP_PX if rows else 0
        rows.append(Row((node,), top_px, max(_LOWEST_ROW_PX, lane_px * len(lanes[node]))))
    return rows


def _lane_px(nodes: Sequence[NodeName], lanes: Lanes) -> float:
    lowest, highest = _LANE_PX
    return max(lowest, min(highest, _HEIGHT_PX / max(1, sum(len(lanes[node]) for node in nodes))))


def closeup_bars(
    rows: Sequence[Row], lanes: Lanes, axis: Axis, tenants: Tenants, epoch_ms: int
) -> list[Markup]:
    return [
        _bar(bar, axis, top_px, lane_px, tenants, epoch_ms)
        for bar, top_px, lane_px in _stacked(rows, lanes)
        if overlaps(axis, bar.start_ms, bar.end_ms)
    ]


def closeup_promises(rows: Sequence[Row], lanes: Lanes, axis: Axis) -> list[Markup]:
    """One mark a job: at the time promised, where its first task started."""
    return [
        promise_mark(bar.job, axis.place(promised_ms), top_px + lane_px / 2)
        for bar, top_px, lane_px in _stacked(rows, lanes)
        if (promised_ms := bar.job.promised_ms) is not None
        and axis.low <= promised_ms <= axis.high
        and _is_first(bar)
    ]


def _stacked(rows: Sequence[Row], lanes: Lanes) -> Iterator[tuple[Bar, float, float]]:
    """Each bar with the top of its lane and its height."""
    for row in rows:
        some = lanes[row.nodes[0]]
        for number, lane in enumerate(some):
            lane_px = row.height_px / len(some)
            for bar in lane:
                yield bar, row.top_px + lane_px * number, lane_px


def _bar(bar: Bar, axis: Axis, top_px: float, lane_px: float, tenants: Tenants, epoch_ms: int) -> Markup:
    left, width = placed_across(axis, bar.start_ms, bar.end_ms)
    style = tenants.style(tenants.number_of(bar.job))
    return element(
        "rect",
        element("title", _about(bar, tenants, epoch_ms)),
        x=left,
        width=width,
        y=top_px + 0.5,
        height=lane_px - 1,
        class_=f"bar {style} evicted" if bar.evicted else f"bar {style}",
    )


def _about(bar: Bar, tenants: Tenants, epoch_ms: int) -> str:
    job = bar.job
    parts = [
        f"{short(job.job)} ({tenants.noun} {short(tenants.name_of(job))})",
        f"{bar.tasks:,} of {counted(job.tasks, 'task')} on {short(bar.node)}",
        f"{moment_text(bar.start_ms, epoch_ms)}, for {duration_text(bar.end_ms - bar.start_ms)}",
        f"arrived {duration_text(bar.start_ms - job.arrival_ms)} before",
    ]
    if bar.evicted:
        parts.append("evicted")
    if job.promised_ms is not None:
        parts.append(f"promised for {moment_text(job.promised_ms, epoch_ms)}")
    return "; ".join(parts)


def _is_first(bar: Bar) -> bool:
    first = min(bar.job.stretches, key=lambda stretch: (stretch.start_ms, stretch.rank))
    return (first.node, first.start_ms) == (bar.node, bar.start_ms)
