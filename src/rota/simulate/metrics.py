"""A replay in numbers. Each is None where there is nothing to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from msgspec import Struct

from rota.simulate.result import JobResult, Sample, SimResult

_TAU_MS = 10_000
"""The bounded slowdown's: jobs shorter than this count as if they ran for so long."""
_MINUTE_MS = 60_000


class _Span(NamedTuple):
    start_ms: int
    end_ms: int


class Metrics(Struct, frozen=True):
    jobs: int
    started: int
    cycles: int
    utilisation: float | None = None
    """CPU time that tasks had, of what there was from the first arrival to the last end."""
    gpu_allocation: float | None = None
    """The same of GPUs."""
    makespan_ms: int | None = None
    """From the first arrival to the last end."""
    mean_wait_ms: float | None = None
    """Waits are from arrival until the start of the run that ended: an eviction makes them longer."""
    median_wait_ms: float | None = None
    p95_wait_ms: int | None = None
    max_wait_ms: int | None = None
    mean_bounded_slowdown: float | None = None
    """Of each job that ended max(1, (wait + run) / max(run, 10 s)), as Feitelson defines it."""
    fairness: float | None = None
    """Jain's index (Σx)² / (n Σx²) over the users' mean bounded slowdowns: 1 if all are slowed down
    alike, 1/n if only one of n is slowed down at all."""
    preemptions: int = 0
    promises_given: int = 0
    promises_kept: int | None = None
    """Of jobs that were promised a start, those that began not later than they were first told."""
    estimates: int = 0
    bounds_held: float | None = None
    """The share of the bounds told on arrival that the start was not later than."""
    within_1_min: float | None = None
    """Of the jobs that waited for over a minute, the share that started so close to what was
    expected on arrival; like the next two."""
    within_10_min: float | None = None
    median_error_ms: float | None = None


def metrics_of(result: SimResult) -> Metrics:
    span = _span(result.jobs)
    started = [job for job in result.jobs if job.start_ms is not None]
    waits = sorted(_wait_ms(job) for job in started)
    slowdowns = _slowdowns(started)
    promised = [job for job in result.jobs if job.promised_ms is not None]
    foretold = [job for job in started if job.estimates]
    errors = [_error_ms(job) for job in foretold if first_start_ms(job) - job.arrival_ms > _MINUTE_MS]
    return Metrics(
        jobs=len(result.jobs),
        started=len(started),
        cycles=result.cycles,
        utilisation=_used(result.samples, lambda sample: sample.cpu_milli, span, result.cpu_milli),
        gpu_allocation=_used(result.samples, lambda sample: sample.gpu_milli, span, result.gpu_milli),
        makespan_ms=None if span is None else span.end_ms - span.start_ms,
        mean_wait_ms=_mean(waits),
        median_wait_ms=median(waits) if waits else None,
        p95_wait_ms=waits[-(-95 * len(waits) // 100) - 1] if waits else None,
        max_wait_ms=waits[-1] if waits else None,
        mean_bounded_slowdown=_mean([slowdown for _, slowdown in slowdowns]),
        fairness=_fairness(slowdowns),
        preemptions=sum(job.preemptions for job in result.jobs),
        promises_given=len(promised),
        promises_kept=sum(map(promise_kept, promised)) if promised else None,
        estimates=len(foretold),
        bounds_held=_mean([first_start_ms(job) <= job.estimates[0].bound_ms for job in foretold]),
        within_1_min=_mean([error <= _MINUTE_MS for error in errors]),
        within_10_min=_mean([error <= 10 * _MINUTE_MS for error in errors]),
        median_error_ms=median(errors) if errors else None,
    )


def _span(jobs: Sequence[JobResult]) -> _Span | None:
    ends = [job.end_ms for job in jobs if job.end_ms is not None]
    return _Span(min(job.arrival_ms for job in jobs), max(ends)) if ends else None


def _used(
    samples: Sequence[Sample], amount: Callable[[Sample], int], span: _Span | None, capacity: int
) -> float | None:
    if span is None or span.end_ms == span.start_ms or not capacity:
        return None
    used = sum(
        amount(one) * max(0, min(following.time_ms, span.end_ms) - one.time_ms)
        for one, following in pairwise(samples)
    )
    return used / (capacity * (span.end_ms - span.start_ms))


def _wait_ms(job: JobResult) -> int:
    assert job.start_ms is not None
    return job.start_ms - job.arrival_ms


def first_start_ms(job: JobResult) -> int:
    """Also of a run that was evicted later on: what estimates and promises are about."""
    assert job.start_ms is not None
    return min((stretch.start_ms for stretch in job.stretches), default=job.start_ms)


def _slowdowns(jobs: Sequence[JobResult]) -> list[tuple[JobResult, float]]:
    found = []
    for job in jobs:
        if job.start_ms is not None and job.end_ms is not None:
            run_ms = max(job.end_ms - job.start_ms, _TAU_MS)
            found.append((job, max(1.0, (job.end_ms - job.arrival_ms) / run_ms)))
    return found


def _fairness(slowdowns: Sequence[tuple[JobResult, float]]) -> float | None:
    by_user: dict[tuple[str, str], list[float]] = {}
    for job, slowdown in slowdowns:
        by_user.setdefault((job.project, job.user), []).append(slowdown)
    if len(by_user) < 2:
        return None
    means = [fmean(values) for values in by_user.values()]
    return sum(means) ** 2 / (len(means) * sum(mean * mean for mean in means))


def promise_kept(job: JobResult) -> bool:
    return job.promised_ms is not None and job.start_ms is not None and first_start_ms(job) <= job.promised_ms


def _error_ms(job: JobResult) -> int:
    return abs(first_start_ms(job) - job.estimates[0].expected_ms)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
