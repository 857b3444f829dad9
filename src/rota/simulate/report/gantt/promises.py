"""Promised starts in the pictures: marks where the jobs ran, or ticks above where there are too many."""

from __future__ import annotations

from collections.abc import Sequence

from rota.simulate.metrics import promise_kept
from rota.simulate.report.axes import Axis
from rota.simulate.report.chart import CANVAS_WIDTH, stretched
from rota.simulate.report.markup import Markup, element, percent_of_width
from rota.simulate.result import JobResult, SimResult

_STRIP_PX = 8


def promised(jobs: Sequence[JobResult]) -> list[tuple[JobResult, int]]:
    return [(job, job.promised_ms) for job in jobs if job.promised_ms is not None]


def promise_mark(job: JobResult, place: float, middle_px: float) -> Markup:
    """`place`: of the time promised, on the axis."""
    href = "#kept" if promise_kept(job) else "#broken"
    return element("use", href=href, x=percent_of_width(place), y=middle_px)


def promise_strip(result: SimResult, axis: Axis) -> Markup:
    """Above the nodes, a tick for every promised start."""
    places: dict[bool, set[int]] = {True: set(), False: set()}
    for job, promised_ms in promised(result.jobs):
        places[promise_kept(job)].add(round(CANVAS_WIDTH * axis.place(promised_ms)))
    ticks = [
        element("path", d="".join(f"M{x} 0v{_STRIP_PX}" for x in sorted(places[kept])), class_=style)
        for kept, style in ((True, "kept"), (False, "broken"))
        if places[kept]
    ]
    return element("svg", stretched(_STRIP_PX, ticks), y=-_STRIP_PX - 3, class_="canvas")
