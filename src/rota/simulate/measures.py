"""What a replay is judged by: each number with its name, how it reads, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rota.simulate.metrics import Metrics
from rota.simulate.words import count_text, duration_text, percent_text


@dataclass(frozen=True)
class Measure:
    label: str
    value: Callable[[Metrics], float | None]
    """None: there is nothing to measure."""
    text: Callable[[float], str]
    best: Callable[[Sequence[float]], float] | None = None
    """None: neither more nor less is better."""

    def texts(self, measured: Sequence[Metrics]) -> list[str | None]:
        return [None if value is None else self.text(value) for value in map(self.value, measured)]

    def best_text(self, measured: Sequence[Metrics]) -> str | None:
        """How the best reads, if not all read the same: what reads the same is equally good."""
        found = [value for value in map(self.value, measured) if value is not None]
        if self.best is None or len(set(map(self.text, found))) < 2:
            return None
        return self.text(self.best(found))


def _slowdown_text(slowdown: float) -> str:
    return f"{slowdown:,.2f}"


def _index_text(index: float) -> str:
    return f"{index:.3f}"


def _promises_kept(metrics: Metrics) -> float | None:
    return None if metrics.promises_kept is None else metrics.promises_kept / metrics.promises_given


MEASURES: dict[str, tuple[Measure, ...]] = {
    "Jobs": (
        Measure("jobs started", lambda one: one.started, count_text, max),
        Measure("preemptions", lambda one: one.preemptions, count_text, min),
    ),
    "Use of the cluster": (
        Measure("utilisation", lambda one: one.utilisation, percent_text, max),
        Measure("GPU allocation", lambda one: one.gpu_allocation, percent_text, max),
        Measure("makespan", lambda one: one.makespan_ms, duration_text, min),
    ),
    "Waits": (
        Measure("mean wait", lambda one: one.mean_wait_ms, duration_text, min),
        Measure("median wait", lambda one: one.median_wait_ms, duration_text, min),
        Measure("95 % waited at most", lambda one: one.p95_wait_ms, duration_text, min),
        Measure("longest wait", lambda one: one.max_wait_ms, duration_text, min),
        Measure("mean bounded slowdown", lambda one: one.mean_bounded_slowdown, _slowdown_text, min),
        Measure("fairness (Jain)", lambda one: one.fairness, _index_text, max),
    ),
    "What users were told": (
        Measure("promised starts", lambda one: one.promises_given or None, count_text),
        Measure("promises kept", _promises_kept, percent_text, max),
        Measure("estimates on arrival", lambda one: one.estimates or None, count_text),
        Measure("90 % bounds that held", lambda one: one.bounds_held, percent_text),
        Measure("expected within ±1 min *", lambda one: one.within_1_min, percent_text, max),
        Measure("expected within ±10 min *", lambda one: one.within_10_min, percent_text, max),
        Measure("median error *", lambda one: one.median_error_ms, duration_text, min),
    ),
}
"""By what they are about. What is starred is of those who waited for over a minute."""


def present(measured: Sequence[Metrics]) -> dict[str, list[Measure]]:
    """Only those of which there is anything to measure."""
    found = {
        group: [one for one in measures if any(text is not None for text in one.texts(measured))]
        for group, measures in MEASURES.items()
    }
    return {group: measures for group, measures in found.items() if measures}
