"""The rows of a picture of nodes: how high each is, and what was announced for its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import NodeName
from rota.simulate.report.axes import Axis
from rota.simulate.report.markup import Markup, element, percent_of_width, short
from rota.simulate.words import moment_text

_LETTER_PX = 6.4
_MOST_LETTERS = 18
_NARROWEST = 0.002
"""Of the width: what is shorter is still drawn so wide, to be seen."""

Window = Maintenance | Reservation


@dataclass(frozen=True)
class Row:
    nodes: tuple[NodeName, ...]
    top_px: float
    height_px: float

    @property
    def bottom_px(self) -> float:
        return self.top_px + self.height_px

    @property
    def label(self) -> str:
        name = short(self.nodes[0])
        return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"


def labels_px(rows: Sequence[Row]) -> int:
    """The room that they need left of the plot."""
    return 18 + round(_LETTER_PX * max(len(row.label) for row in rows))


def row_label(row: Row) -> Markup:
    middle_px = row.top_px + row.height_px / 2
    return element("text", row.label, x=-8, y=middle_px, dy="0.32em", class_="y-label")


def row_ground(row: Row) -> Markup:
    return element("rect", x=0, width="100%", y=row.top_px, height=row.height_px, class_="ground")


def placed_across(axis: Axis, start_ms: int, end_ms: int) -> tuple[str, str]:
    """Where a period begins, and how wide it is."""
    start, end = axis.place(start_ms), axis.place(end_ms)
    width = max(end - start, _NARROWEST)
    return percent_of_width(min(start, 1 - width)), percent_of_width(width)


def overlaps(axis: Axis, start_ms: int, end_ms: int) -> bool:
    return start_ms <= axis.high and end_ms >= axis.low


def announced(calendar: Calendar, rows: Sequence[Row], axis: Axis) -> list[Markup]:
    """Maintenance and reservations, hatched."""
    windows: tuple[Window, ...] = (*calendar.maintenance, *calendar.reservations)
    return [
        hatched
        for window in windows
        if overlaps(axis, window.start_ms, window.end_ms)
        for hatched in _hatched(window, rows, axis)
    ]


def window_text(window: Window, epoch_ms: int) -> str:
    first, last = (moment_text(time_ms, epoch_ms) for time_ms in (window.start_ms, window.end_ms))
    return f"{_kind(window)} {short(window.name)}, {first} to {last}"


def _kind(window: Window) -> str:
    return "maintenance" if isinstance(window, Maintenance) else "reservation"


def _hatched(window: Window, rows: Sequence[Row], axis: Axis) -> Iterator[Markup]:
    left, width = placed_across(axis, window.start_ms, window.end_ms)
    nodes = frozenset(window.nodes)

    def is_meant(row: Row) -> bool:
        return not nodes or not nodes.isdisjoint(row.nodes)

    for top_px, bottom_px in _blocks(rows, is_meant):
        yield element("rect", x=left, width=width, y=top_px, height=bottom_px - top_px, class_=_kind(window))


def _blocks(rows: Iterable[Row], is_meant: Callable[[Row], bool]) -> Iterator[tuple[float, float]]:
    """Rows that follow one another as one."""
    for meant, group in groupby(rows, is_meant):
        if meant:
            block = [*group]
            yield block[0].top_px, block[-1].bottom_px
