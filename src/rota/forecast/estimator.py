"""Estimates when jobs will start, and learns from when they did.

    planned starts ──► StartBook ──► Estimate ──► the user
    (by `decide`)      factors          ▲
         ▲                └── started ──┘
         └── RunTimeBook ◄── ended

The live loop and the simulator call it when jobs arrive, start, end or are withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from rota.forecast.bounds import BoundsState, Case, StartBook
from rota.forecast.run_times import RunTimeBook, RunTimeState
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.nodes import PPM
from rota.snapshot.state import Snapshot

SMALLEST_SIZE = 4


class PlannedStarts(Struct, frozen=True):
    """A job's place in the calendar, if nothing else came in."""

    expected_ms: int | None = None
    """With everybody running for as long as is expected; None: it has no place."""
    latest_ms: int | None = None
    """With everybody running until the limit."""
    promised: bool = False
    """The expected start is kept, whatever comes."""
    closed: tuple[tuple[int, int], ...] = ()
    """Periods in which it can't start where it is planned to: from, until."""


Planned = Callable[[Snapshot, Policy, int, Job, Plan], PlannedStarts]
"""Looks up in a plan, or works out by running ahead, when a waiting job starts."""


class EstimatorState(Struct):
    """What was learnt. It is saved, so that a restart doesn't lose it."""

    run_times: RunTimeState = field(default_factory=RunTimeState)
    starts: BoundsState = field(default_factory=BoundsState)

    def for_others(self) -> EstimatorState:
        """Without the estimates of jobs that still wait: for another cluster or another time, which has no
        such jobs."""
        return replace(self, starts=replace(self.starts, told={}))


class Estimator:
    def __init__(self, planned: Planned | None, state: EstimatorState | None = None) -> None:
        """Without `planned` it learns run times and makes no estimates."""
        self.state = state or EstimatorState()
        self._planned = planned
        self._run_times = RunTimeBook(self.state.run_times)
        self._starts = StartBook(self.state.starts)

    def run_times(self, template: JobTemplate) -> tuple[int, ...]:
        """What the engine plans with."""
        return self._run_times.quantiles(template)

    def waits(self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan) -> Estimate | None:
        """The estimate for a job that the plan doesn't start now; None: there is none. It is asked for again
        while the job waits, and each estimate is learnt from."""
        if self._planned is None:
            return None
        planned = self._planned(snapshot, policy, now_ms, job, plan)
        if planned.expected_ms is not None and planned.promised:
            return _promise(planned.expected_ms, now_ms)
        start = self._starts.tell(job.id, _case(planned, snapshot, now_ms, job), now_ms)
        return Estimate(now_ms, start.expected_ms, start.bound_ms, planned.latest_ms)

    def look(self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan) -> Estimate | None:
        """What the user would be told, for whoever won't see what comes of it. None: also for a job
        without a place in the calendar, of which only a guess could be told."""
        if self._planned is None:
            return None
        planned = self._planned(snapshot, policy, now_ms, job, plan)
        if planned.expected_ms is None:
            return None
        if planned.promised:
            return _promise(planned.expected_ms, now_ms)
        start = self._starts.look(_case(planned, snapshot, now_ms, job), now_ms)
        return Estimate(now_ms, start.expected_ms, start.bound_ms, planned.latest_ms)

    def started(self, job: Job, now_ms: int) -> None:
        """Only its first start counts: that is what was told."""
        self._starts.started(job.id, now_ms)

    def ended(self, job: Job, run_ms: int, now_ms: int, completed: bool) -> None:
        self._starts.pass_time(now_ms)
        self._run_times.ended(job.template, run_ms, completed)

    def withdrawn(self, job_id: JobId) -> None:
        """It was cancelled or refused before it started."""
        self._starts.withdrawn(job_id)


def _promise(start_ms: int, now_ms: int) -> Estimate:
    return Estimate(now_ms, start_ms, start_ms, start_ms)


def _case(planned: PlannedStarts, snapshot: Snapshot, now_ms: int, job: Job) -> Case:
    template, expected_ms = job.template, planned.expected_ms
    wait_ms = None if expected_ms is None else max(1, expected_ms - now_ms)
    waited_ms = max(0, now_ms - job.submitted_ms)
    return Case(template.queue, size_class(template, snapshot), wait_ms, waited_ms, planned.closed)


def size_class(template: JobTemplate, snapshot: Snapshot) -> int:
    """0: more than a quarter of the cluster's CPUs, memory or GPUs; 1: more than a sixteenth; and so on,
    down to `SMALLEST_SIZE`."""
    share_ppm, size = snapshot.nodes.share_ppm(template), 0
    while size < SMALLEST_SIZE and share_ppm * 4 ** (size + 1) <= PPM:
        size += 1
    return size
