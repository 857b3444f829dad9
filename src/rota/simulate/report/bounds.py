"""Whether the bounds that users were told held: as often as they should, in every class of jobs?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, sqrt

from rota.simulate.report.axes import Axis, percent_axis
from rota.simulate.report.chart import plot, rule, x_ticks
from rota.simulate.report.figure import figure
from rota.simulate.report.markup import Markup, element, joined, percent_of_width, short
from rota.simulate.report.runs import Run, foretold, legend, said_of_each
from rota.simulate.result import JobResult
from rota.simulate.words import counted, percent_text

NOMINAL = 0.9
_SIZES = ((1, "up to 1 CPU"), (4, "2–4 CPUs"), (16, "5–16 CPUs"), (64, "17–64 CPUs"), (256, "65–256 CPUs"))
_LARGEST = "over 256 CPUs"
_MOST_QUEUES = 12
_LABELS_PX = 138
_ROW_PX = 30
_CONFIDENCE = 1.96
"""Standard deviations, for an interval that holds the true share in 95 of 100 cases."""


@dataclass(frozen=True)
class _Held:
    run: Run
    held: int
    told: int


@dataclass(frozen=True)
class _Class:
    name: str
    held: tuple[_Held, ...]


def bounds_figures(runs: Sequence[Run]) -> list[Markup]:
    classes = [one for one in _classes(runs) if any(held.told for held in one.held)]
    if not classes:
        return []
    lowest = min(held.held / held.told for one in classes for held in one.held if held.told)
    axis = percent_axis(min(80, floor(lowest * 10) * 10))
    row_px = max(_ROW_PX, 12 + 9 * len(runs))
    height = row_px * len(classes)
    overall = said_of_each([(held.run, _said(held)) for held in classes[0].held if held.told])
    drawn = figure(
        "Starts not later than the bound told at submission",
        plot(
            height,
            f"Share of bounds that held, which should be nine of ten. {overall}",
            _LABELS_PX,
            [
                *x_ticks(axis, height),
                rule(axis, NOMINAL, height),
                *(_row(one, axis, number * row_px, row_px) for number, one in enumerate(classes)),
            ],
            below=24,
        ),
        f"It should hold for nine of ten jobs (the dashed line) in every class. {overall} A thin line is"
        " where the true share lies with 95 % confidence: wide where jobs are few.",
        legend(runs),
    )
    return [drawn]


def _classes(runs: Sequence[Run]) -> Iterator[_Class]:
    told = [foretold(run.result) for run in runs]
    sizes = [name for _, name in _SIZES] + [_LARGEST]
    queues = sorted({job.queue for jobs in told for job, _ in jobs})
    yield _class("all jobs", runs, told)
    for size in sizes:
        yield _class(size, runs, [[one for one in jobs if _size(one[0]) == size] for jobs in told])
    if 1 < len(queues) <= _MOST_QUEUES:
        for queue in queues:
            some = [[one for one in jobs if one[0].queue == queue] for jobs in told]
            yield _class(f"queue {short(queue)}", runs, some)


def _class(name: str, runs: Sequence[Run], told: Sequence[Sequence[tuple[JobResult, int]]]) -> _Class:
    return _Class(
        name,
        tuple(
            _Held(run, sum(start_ms <= job.estimates[0].bound_ms for job, start_ms in jobs), len(jobs))
            for run, jobs in zip(runs, told, strict=True)
        ),
    )


def _size(job: JobResult) -> str:
    return next((name for cpus, name in _SIZES if job.cpu_milli <= cpus * 1000), _LARGEST)


def _row(one: _Class, axis: Axis, top_px: int, row_px: int) -> Markup:
    shown = [held for held in one.held if held.told]
    most = max(held.told for held in shown)
    gap_px = row_px / (len(shown) + 1)
    middle_px = top_px + row_px / 2
    return joined(
        (
            element("text", one.name, x=-10, y=middle_px - 2, class_="y-label"),
            element("text", counted(most, "job"), x=-10, y=middle_px + 11, class_="y-label second"),
            element("line", x1=0, x2="100%", y1=top_px + row_px, y2=top_px + row_px, class_="grid"),
            *(_dot(held, axis, top_px + gap_px * number) for number, held in enumerate(shown, start=1)),
        )
    )


def _dot(held: _Held, axis: Axis, down_px: float) -> Markup:
    low, high = _interval(held)
    return element(
        "g",
        element("title", f"{held.run.label}: {_said(held)}"),
        element(
            "line",
            x1=percent_of_width(axis.place(low)),
            x2=percent_of_width(axis.place(high)),
            y1=down_px,
            y2=down_px,
            class_=f"interval {held.run.style}",
        ),
        element(
            "circle",
            cx=percent_of_width(axis.place(held.held / held.told)),
            cy=down_px,
            r=4,
            class_=f"dot {held.run.style}",
        ),
    )


def _said(held: _Held) -> str:
    return f"{percent_text(held.held / held.told)} of {counted(held.told, 'job')}"


def _interval(held: _Held) -> tuple[float, float]:
    """E. B. Wilson's, which stays within 0 and 1 and is right for few jobs, too."""
    share, count, z = held.held / held.told, held.told, _CONFIDENCE
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - reach, middle + reach
