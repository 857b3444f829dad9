"""What became of each job of a replay, a line each: CSV, or JSON where the file is named so."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, json, structs

from rota.simulate.result import JobResult, SimResult
from rota.views.folding import fold_counted

_JSON_NAMES = (".jsonl", ".ndjson", ".json")


class JobLine(Struct, frozen=True):
    """Times in seconds from the beginning of the workload."""

    policy: str
    job: str
    queue: str
    project: str
    user: str
    tasks: int
    submit: float
    start: float | None
    """Of the run that ended; None: it never started."""
    end: float | None
    wait: float | None
    nodes: str
    """Where it ran, as tables have it: `n-[0-2], n-7 ×2`."""
    state: str
    """completed, timed-out, running, cancelled, never-started or waiting."""
    preemptions: int


def write_job_lines(path: str, results: Sequence[SimResult]) -> None:
    """OSError: the file can't be written."""
    lines = list(job_lines(results))
    if path.endswith(_JSON_NAMES):
        Path(path).write_bytes(b"".join(json.encode(line) + b"\n" for line in lines))
        return
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(JobLine.__struct_fields__)
        writer.writerows(structs.astuple(line) for line in lines)


def job_lines(results: Sequence[SimResult]) -> Iterator[JobLine]:
    for result in results:
        for job in result.jobs:
            yield JobLine(
                policy=result.policy,
                job=job.job,
                queue=job.queue,
                project=job.project,
                user=job.user,
                tasks=job.tasks,
                submit=job.arrival_ms / 1000,
                start=_seconds(job.start_ms),
                end=_seconds(job.end_ms),
                wait=None if job.start_ms is None else max(0, job.start_ms - job.arrival_ms) / 1000,
                nodes=fold_counted(one.node for one in job.stretches if not one.evicted),
                state=_state(job),
                preemptions=job.preemptions,
            )


def _seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else at_ms / 1000


def _state(job: JobResult) -> str:
    if job.cancelled:
        return "cancelled"
    if job.end_ms is not None:
        return "timed-out" if job.timed_out else "completed"
    if job.start_ms is not None:
        return "running"
    return "never-started" if job.verdict is not None else "waiting"
