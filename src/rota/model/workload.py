"""A workload that a simulator replays: which jobs arrive when, and how long each really runs.

Times are whole milliseconds from the start of the workload. A job's `submitted_ms` is its arrival.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.job import Job, JobTemplate, Placement
from rota.model.node import Node
from rota.model.policy import FairShare

ENDLESS_MS = 2**60
"""The run time of a job that doesn't end by itself: later than any time that is ever reached, and
still small enough to be added to one in an int64."""


class RecordedEnd(Enum):
    """How the job ended where the trace was recorded."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"
    UNKNOWN = "unknown"


class SimJob(Struct, frozen=True, omit_defaults=True):
    job: Job
    arrival_ms: int
    run_ms: int
    """The true run time, which no scheduler may see before the job ends. What the user gave as a
    limit is `job.template.time_limit_ms`; the run time may be longer than that."""
    outcome: RecordedEnd = RecordedEnd.COMPLETED
    placements: tuple[Placement, ...] = ()
    """Not empty: it runs there already when the replay begins."""
    waited_ms: int | None = None
    """How long it waited where the trace was recorded; None: nobody knows. A job that was
    cancelled before it ran has a run time of 0 and waited until then."""

    @property
    def is_endless(self) -> bool:
        return self.run_ms >= ENDLESS_MS

    @property
    def cancelled_waiting(self) -> bool:
        return self.outcome is RecordedEnd.CANCELLED and self.run_ms == 0


class WorkloadNote(Struct, frozen=True, omit_defaults=True):
    """What was left out of a trace, or assumed about it, on purpose."""

    reason: str
    count: int = 0
    """Of so many lines or jobs; 0 where there is nothing to count."""
    first_line: int = 0

    def __str__(self) -> str:
        line = f", first on line {self.first_line}" if self.first_line else ""
        return f"{self.reason} ({self.count:,}×{line})" if self.count else self.reason


class Workload(Struct, frozen=True, omit_defaults=True):
    name: str
    jobs: tuple[SimJob, ...]
    """By arrival; of equal ones, in the order of the trace. Equal jobs share one template."""
    nodes: tuple[Node, ...] = ()
    """The machine of the trace; empty where the trace doesn't say."""
    fair_share: FairShare | None = None
    """Quotas that belong to the workload; None: it has none."""
    epoch_ms: int = 0
    """When the workload began, in milliseconds since 1970; 0: at no particular time."""
    notes: tuple[WorkloadNote, ...] = ()


def cpu_milli_of(template: JobTemplate) -> int:
    """Of all tasks together."""
    return sum(group.count * group.spec.requests.cpu_milli for group in template.groups)


def offered_load(workload: Workload) -> float:
    """CPU time asked for, relative to what the nodes have between the first and the last arrival."""
    capacity = sum(node.spec.capacity.cpu_milli for node in workload.nodes)
    arrivals = [one.arrival_ms for one in workload.jobs]
    span = max(arrivals, default=0) - min(arrivals, default=0)
    if not capacity or not span:
        raise ValueError("no load without CPUs and jobs that arrive over time")
    return sum(one.run_ms * cpu_milli_of(one.job.template) for one in workload.jobs) / (capacity * span)
