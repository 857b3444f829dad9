"""Asks, once a plan is made, how it would have gone if a job were different."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from rota.engine.evicting.evict import Claim
from rota.engine.evicting.making_room import fits_but_for_plans, would_delay
from rota.engine.explaining.idle import without_jobs
from rota.engine.order import effective_priority
from rota.engine.placing.place import would_place
from rota.engine.placing.work import Seat, Work
from rota.engine.plugin import NodeFilter
from rota.engine.refusals import LaneRefusal
from rota.engine.scope import Turn, turn_of
from rota.engine.workbench import Workbench
from rota.model.explanation import NOW
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate
from rota.model.reasons import OutsideReservation, TooEarly
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import replace_template

_OPEN_IN_TIME = (TooEarly, OutsideReservation)
"""What keeps a job from starting now, but doesn't keep it out of the calendar."""


@dataclass(frozen=True)
class Trial:
    """Where a job would go, who would have to go for it, and when it would start."""

    nodes: tuple[NodeName, ...]
    evicts: tuple[JobId, ...] = ()
    start_ms: int | None = NOW
    """None: once there is room, and nobody can tell when that is."""


class WhatIf:
    def __init__(self, bench: Workbench) -> None:
        """`bench`: as a cycle has left it."""
        self._bench = bench

    @property
    def snapshot(self) -> Snapshot:
        return self._bench.snapshot

    @property
    def filters(self) -> Sequence[NodeFilter]:
        return self._bench.plugins.filters

    @property
    def now_ms(self) -> int:
        return self._bench.now_ms

    def make_way(self, job: Job) -> None:
        """Takes a waiting job out of the calendar, before trials of it."""
        self._bench.ahead.make_way(job)

    def trial(self, refusal: LaneRefusal, job: Job, template: JobTemplate) -> Trial | None:
        """When and where a waiting job would start if it were like this, as the plan leaves board and
        calendar. Nothing is changed by asking."""
        attempt = _attempt(self._bench, refusal, job, template)
        if attempt is None:
            return None
        closed = self._bench.gates.closed_to(attempt.job)
        if closed is None and (found := attempt.now()):
            return found
        if closed is not None and not isinstance(closed, _OPEN_IN_TIME):
            return None
        return attempt.later()

    def trial_when_idle(self, refusal: LaneRefusal, job: Job, template: JobTemplate) -> Trial | None:
        """Where it could start if nothing ran and nothing was announced; nobody knows when."""
        attempt = _attempt(self._when_idle, refusal, job, template)
        found = None if attempt is None else attempt.now()
        return None if found is None else dataclasses.replace(found, start_ms=None)

    @cached_property
    def _when_idle(self) -> Workbench:
        bench = self._bench
        idle = dataclasses.replace(without_jobs(bench.snapshot), waiting=bench.snapshot.waiting)
        return Workbench(idle, bench.policy, bench.now_ms, bench.plugins)


def _attempt(bench: Workbench, refusal: LaneRefusal, job: Job, template: JobTemplate) -> _Attempt | None:
    """The job as if it were like this; None: nobody is in charge of it, or a quota doesn't allow it."""
    changed, turn = replace(job, template=template), turn_of(template, bench.policy.schedulers)
    if turn is None:
        return None
    key = replace_template(refusal.cursor.lane.key, template)
    work = bench.books.allowed(template, bench.compiler.compiled(turn, key, changed))
    return None if work is None else _Attempt(bench, turn, changed, work)


@dataclass(frozen=True, eq=False)
class _Attempt:
    bench: Workbench
    turn: Turn
    job: Job
    work: Work

    def now(self) -> Trial | None:
        bench, job, work, template = self.bench, self.job, self.work, self.job.template
        with bench.board.without(bench.ahead.kept_back(template, self.turn.queue)):
            seats = would_place(work, bench.board)
        if seats is not None:
            return self._trial(seats)
        waited_ms, scheduler = bench.now_ms - job.submitted_ms, self.turn.scheduler
        priority = effective_priority(template, job.retries, waited_ms, scheduler.promotion)
        claim = Claim(job, priority, scheduler.preemption)
        if template.reservation or not bench.evictor.may_make_room(claim):
            return None
        checkpoint = bench.board.checkpoint()
        with bench.board.without(bench.ahead.kept_from_evictors(template)):
            fits = bench.ahead.is_open and fits_but_for_plans(bench, work)
            done = None if fits else bench.evictor.preempted(claim, work)
        delays = done is not None and would_delay(bench, self.turn, claim, work, done)
        bench.board.rollback(checkpoint)
        if done is None or delays:
            return None
        running = bench.snapshot.running.tasks
        evicted = {running[task].job.id for unit in done.victims for task in unit.tasks}
        return self._trial(done.seats, tuple(sorted(evicted)))

    def later(self) -> Trial | None:
        ahead, job = self.bench.ahead, self.job
        if not ahead.may_plan(self.turn):
            return None
        not_before_ms = max(self.bench.now_ms, job.start_after_ms)
        slot = ahead.find(job, self.work, self.turn.queue, not_before_ms)
        return None if slot is None else self._trial(slot.seats, start_ms=slot.start_ms)

    def _trial(
        self, seats: Iterable[Seat], evicted: tuple[JobId, ...] = (), start_ms: int | None = NOW
    ) -> Trial:
        names = self.bench.snapshot.nodes.names
        return Trial(tuple(names[seat.position] for seat in seats), evicted, start_ms)
