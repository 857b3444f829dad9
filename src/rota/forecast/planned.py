"""When a waiting job starts, as things stand: the calendar of a plan made to the end of the queue.

A conservative calendar is a run ahead in virtual time: every job that waits is given its place as if
everybody ran for exactly as long as was assumed, and none delays one before it. So one `decide` with
learnt run times tells the start to expect, and one with the users' limits the latest; one of the two
is often the plan that is at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.engine.scope import queue_named, scheduler_for
from rota.forecast.estimator import PlannedStarts
from rota.model.calendar import PlannedStart
from rota.model.cluster import Calendar
from rota.model.ids import JobId, NodeName
from rota.model.job import Job
from rota.model.plan import Plan
from rota.model.policy import Backfill, Durations, Policy, QueuePolicy
from rota.snapshot.state import Snapshot

_DEEP = 1_000_000


class Planner:
    def __init__(self, plugins: Plugins, depth: int = _DEEP) -> None:
        """`depth`: how many jobs of a queue are looked at, if its policy doesn't say more. Twice as many
        take up to eight times as long."""
        self._plugins = plugins
        self._depth = depth
        self._plan = Plan()
        self._here: dict[JobId, PlannedStart] = {}
        """The starts of that plan."""
        self._ahead: dict[Durations, dict[JobId, _Place]] = {}
        """Those of plans to the end of the queue, made once for all who ask about the same cycle."""

    def __call__(
        self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan
    ) -> PlannedStarts:
        if plan is not self._plan:
            self._plan, self._here, self._ahead = plan, {start.job: start for start in plan.starts}, {}
        here = self._here.get(job.id)
        if here is not None and here.promised:
            return PlannedStarts(here.start_ms, here.start_ms, promised=True)
        own = _durations(policy, job)
        expected, latest = (
            _place(here)
            if here is not None and durations is own
            else self._starts_ahead(snapshot, policy, now_ms, durations).get(job.id)
            for durations in (Durations.LEARNT, Durations.LIMITS)
        )
        return PlannedStarts(
            None if expected is None else expected.start_ms,
            None if latest is None else latest.start_ms,
            closed=() if expected is None else tuple(closed_periods(job, expected.nodes, snapshot.calendar)),
        )

    def _starts_ahead(
        self, snapshot: Snapshot, policy: Policy, now_ms: int, durations: Durations
    ) -> dict[JobId, _Place]:
        if durations not in self._ahead:
            ahead = decide(snapshot, to_the_end(policy, durations, self._depth), now_ms, self._plugins)
            self._ahead[durations] = _starts(ahead, now_ms)
        return self._ahead[durations]


class _Place(NamedTuple):
    start_ms: int
    nodes: frozenset[NodeName] = frozenset()


def _place(start: PlannedStart) -> _Place:
    return _Place(start.start_ms, frozenset(one.node for one in start.placements))


def _starts(plan: Plan, now_ms: int) -> dict[JobId, _Place]:
    planned = {start.job: _place(start) for start in plan.starts}
    return planned | {one.job: _Place(now_ms) for one in plan.bindings}


def closed_periods(job: Job, nodes: Collection[NodeName], calendar: Calendar) -> Iterator[tuple[int, int]]:
    """When the job can't start on these nodes, however early others end: before it may, and where it would
    run into maintenance. From, until."""
    limit_ms = job.template.time_limit_ms
    if job.start_after_ms:
        yield 0, job.start_after_ms
    for reservation in calendar.reservations:
        if reservation.name == job.template.reservation:
            yield 0, reservation.start_ms
    for window in calendar.maintenance:
        if not window.nodes or any(node in nodes for node in window.nodes):
            # Without a limit it could run into any of them.
            yield 0 if limit_ms is None else max(0, window.start_ms - limit_ms + 1), window.end_ms


def _durations(policy: Policy, job: Job) -> Durations | None:
    """By what the calendar of the job's queue is planned; None: by nothing that tells its start."""
    scheduler = scheduler_for(job.template, policy.schedulers)
    if scheduler is None:
        return None
    queue = queue_named(job.template.queue, scheduler)
    return queue.durations if queue.backfill is Backfill.CONSERVATIVE else None


def to_the_end(policy: Policy, durations: Durations, depth: int = _DEEP) -> Policy:
    """The policy, with a place in the calendar for everybody who waits, or for so many of each queue."""

    def deep(queue: QueuePolicy) -> QueuePolicy:
        if queue.interactive:
            return queue
        deeper = max(depth, queue.depth)
        return replace(queue, backfill=Backfill.CONSERVATIVE, durations=durations, depth=deeper)

    schedulers = (
        replace(scheduler, queues=tuple(deep(queue) for queue in scheduler.queues))
        for scheduler in policy.schedulers
    )
    return replace(policy, schedulers=tuple(schedulers))
