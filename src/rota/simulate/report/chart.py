"""A small chart: two axes and marks between them, as inline SVG that fits any width.

Across, places are percentages of the width, so that a narrow screen squeezes the picture and not its text;
down, they are pixels. The labels of the axes stand in the padding of the SVG. Curves can't be given in
percentages: they are drawn on a canvas of their own that is stretched over the plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rota.simulate.report.axes import Axis, Tick
from rota.simulate.report.markup import Markup, element, joined, number_text, percent_of_width

CANVAS_WIDTH = 1000
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Frame:
    x: Axis
    y: Axis
    height: int = 220

    def across(self, value: float) -> str:
        return percent_of_width(self.x.place(value))

    def down(self, value: float) -> float:
        return self.height * (1 - self.y.place(value))

    def on_canvas(self, x: float, y: float) -> tuple[str, str]:
        return number_text(CANVAS_WIDTH * self.x.place(x)), number_text(self.down(y))


# -- marks on the canvas


def line(frame: Frame, points: Points, class_: str) -> Markup:
    return _curve([frame.on_canvas(x, y) for x, y in points], class_)


def steps(frame: Frame, points: Points, class_: str) -> Markup:
    """Each value holds until the next point."""
    path: list[tuple[str, str]] = []
    for x, y in (frame.on_canvas(*point) for point in points):
        if path and path[-1][1] != y:
            path.append((x, path[-1][1]))
        path.append((x, y))
    return _curve(_without_inner_points(path), class_)


def band(frame: Frame, upper: Points, lower: Points, class_: str) -> Markup:
    places = [frame.on_canvas(x, y) for x, y in (*upper, *reversed(lower))]
    return element("path", d=f"{_path(places)}Z", class_=f"band {class_}")


def _curve(places: Sequence[tuple[str, str]], class_: str) -> Markup:
    return element("path", d=_path(places), class_=f"curve {class_}")


def _path(places: Sequence[tuple[str, str]]) -> str:
    if not places:
        return ""
    parts = [f"M{places[0][0]} {places[0][1]}"]
    for (x_before, y_before), (x, y) in pairwise(places):
        parts.append(f"V{y}" if x == x_before else f"H{x}" if y == y_before else f"L{x} {y}")
    return "".join(parts)


def _without_inner_points(path: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of a level stretch its two ends."""
    return [
        here
        for number, here in enumerate(path)
        if not 0 < number < len(path) - 1 or not path[number - 1][1] == here[1] == path[number + 1][1]
    ]


# -- marks beside the canvas


def rule(axis: Axis, value: float, height: int) -> Markup:
    """A line from top to bottom, to compare with."""
    across = percent_of_width(axis.place(value))
    return element("line", x1=across, x2=across, y1=0, y2=height, class_="rule")


def dot(frame: Frame, x: float, y: float, class_: str) -> Markup:
    return element("circle", cx=frame.across(x), cy=frame.down(y), r=3, class_=f"dot {class_}")


# -- the whole


def chart(
    frame: Frame, label: str, canvas: Iterable[Markup], beside: Iterable[Markup] = (), left: int = 52
) -> Markup:
    """`label`: what somebody is told who doesn't see it. `left`: room for the labels, in pixels."""
    return plot(
        frame.height,
        label,
        left,
        [
            *(_y_tick(frame, tick) for tick in frame.y.ticks),
            *x_ticks(frame.x, frame.height),
            stretched(frame.height, canvas),
            *beside,
        ],
        below=38 if any(tick.second_line for tick in frame.x.ticks) else 24,
    )


def plot(height: int, label: str, left: int, parts: Iterable[Markup], below: int = 38) -> Markup:
    above, right = 18, 22
    style = f"height:{height + above + below}px;padding:{above}px {right}px {below}px {left}px"
    return element("svg", *parts, class_="chart", role="img", aria_label=label, style=style)


def stretched(height: int, parts: Iterable[Markup]) -> Markup:
    return element(
        "svg",
        *parts,
        width="100%",
        height=height,
        viewBox=f"0 0 {CANVAS_WIDTH} {height}",
        preserveAspectRatio="none",
        class_="canvas",
    )


def x_ticks(axis: Axis, height: int) -> list[Markup]:
    return [_x_tick(axis, tick, height, number) for number, tick in enumerate(axis.ticks)]


def _x_tick(axis: Axis, tick: Tick, height: int, number: int) -> Markup:
    across = percent_of_width(axis.place(tick.value))
    # Every other label without a second line goes where there is little room.
    class_ = "x-label every-other" if number % 2 and not tick.second_line else "x-label"
    parts = [
        element("line", x1=across, x2=across, y1=0, y2=height, class_="grid"),
        element("text", tick.label, x=across, y=height + 16, class_=class_),
    ]
    if tick.second_line:
        parts.append(element("text", tick.second_line, x=across, y=height + 31, class_="x-label second"))
    return joined(parts)


def _y_tick(frame: Frame, tick: Tick) -> Markup:
    down = frame.down(tick.value)
    return joined(
        (
            element("line", x1=0, x2="100%", y1=down, y2=down, class_="grid"),
            element("text", tick.label, x=-8, y=down, dy="0.32em", class_="y-label"),
        )
    )
