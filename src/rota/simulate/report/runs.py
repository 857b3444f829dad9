"""The results that a report compares, each with a label and a style of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rota.simulate.metrics import first_start_ms
from rota.simulate.report.markup import NOTHING, Markup, element, short
from rota.simulate.result import JobResult, SimResult

_STYLES = 8
"""So many does the style sheet tell apart."""


@dataclass(frozen=True)
class Run:
    label: str
    style: str
    """A class of the style sheet: colour and dashes."""
    result: SimResult
    is_alone: bool = False
    """Then pictures and captions needn't say whose they are."""


def runs_of(results: Sequence[SimResult]) -> tuple[Run, ...]:
    labels = _labels(results)
    return tuple(
        Run(label, f"p{number % _STYLES}", result, is_alone=len(results) == 1)
        for number, (label, result) in enumerate(zip(labels, results, strict=True))
    )


def _labels(results: Sequence[SimResult]) -> list[str]:
    """The policy; where that doesn't tell two results apart, workload, seed and at last a number too."""
    forms: tuple[Callable[[SimResult], str], ...] = (
        lambda one: short(one.policy),
        lambda one: f"{short(one.policy)}, {short(one.workload)}",
        lambda one: f"{short(one.policy)}, {short(one.workload)}, seed {one.seed}",
    )
    for form in forms:
        labels = [form(one) for one in results]
        if len(set(labels)) == len(labels):
            return labels
    seen: Counter[str] = Counter()
    numbered = []
    for label in labels:
        seen[label] += 1
        numbered.append(f"{label} ({seen[label]})")
    return numbered


def span_ms(results: Sequence[SimResult]) -> tuple[int, int]:
    """From the first thing that happened to the last."""
    ends = [_span_ms(one) for one in results]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _span_ms(result: SimResult) -> tuple[int, int]:
    times = [sample.time_ms for sample in result.samples]
    for job in result.jobs:
        times.append(job.arrival_ms)
        for stretch in job.stretches:
            times += (stretch.start_ms, stretch.end_ms)
    return min(times, default=0), max(times, default=0)


def started(result: SimResult) -> list[tuple[JobResult, int]]:
    """The jobs that started, each with the start of the run that ended: what waits are about."""
    return [(job, job.start_ms) for job in result.jobs if job.start_ms is not None]


def foretold(result: SimResult) -> list[tuple[JobResult, int]]:
    """Those whose users were told when they would start, each with its first start."""
    return [(job, first_start_ms(job)) for job, _ in started(result) if job.estimates]


def said_of_each(facts: Sequence[tuple[Run, str]]) -> str:
    return "; ".join(text if run.is_alone else f"{run.label}: {text}" for run, text in facts) + "."


def legend(runs: Sequence[Run]) -> Markup:
    if runs[0].is_alone:
        return NOTHING
    return element("ul", *(_entry(run) for run in runs), class_="legend")


def _entry(run: Run) -> Markup:
    sample = element("path", d="M1 6H27", class_=f"curve {run.style}")
    return element(
        "li", element("svg", sample, width=28, height=12, class_="sample", aria_hidden="true"), run.label
    )
