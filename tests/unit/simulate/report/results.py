"""Small results, for tests of the report. Times are hours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rota.model.cluster import Calendar
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.simulate.result import JobResult, Sample, SimResult, Stretch

HOUR_MS = 3_600_000
NOTHING_ANNOUNCED = Calendar()


def job(
    name: str,
    on: Sequence[str] = ("n1",),
    arrived: float = 0,
    start: float | None = 0,
    hours: float = 1,
    **fields: Any,
) -> JobResult:
    """A job with a task on each of the nodes; `start=None`: it never starts."""
    facts: dict[str, Any] = {"queue": "batch", "project": "vision", "user": "ada", "cpu_milli": 1000}
    if start is not None:
        start_ms, end_ms = ms(start), ms(start + hours)
        facts |= {"start_ms": start_ms, "end_ms": end_ms}
        facts["stretches"] = tuple(
            Stretch(rank, NodeName(node), start_ms, end_ms) for rank, node in enumerate(on)
        )
    return JobResult(
        job=JobId(name),
        tasks=len(on),
        gpu_milli=0,
        arrival_ms=ms(arrived),
        run_ms=ms(hours),
        **(facts | fields),
    )


def estimate(expected: float, bound: float, told: float = 0, latest: float | None = None) -> Estimate:
    return Estimate(ms(told), ms(expected), ms(bound), None if latest is None else ms(latest))


def result(
    *jobs: JobResult,
    policy: str = "fifo",
    nodes: Sequence[str] = ("n1", "n2"),
    samples: Sequence[Sample] | None = None,
    calendar: Calendar = NOTHING_ANNOUNCED,
    **fields: Any,
) -> SimResult:
    facts: dict[str, Any] = {"workload": "a day", "seed": 1, "gpu_milli": 0, "cycles": 1}
    if samples is None:
        samples = [Sample(0, len(jobs), 0, 0, 0), Sample(ms(1), 0, len(jobs), 1000, 0)] if jobs else []
    return SimResult(
        policy=policy,
        nodes=tuple(map(NodeName, nodes)),
        cpu_milli=4000 * len(nodes),
        jobs=jobs,
        samples=tuple(samples),
        calendar=calendar,
        **(facts | fields),
    )


def ms(hours: float) -> int:
    return round(hours * HOUR_MS)
