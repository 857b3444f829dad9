"""A cycle that is asked, once its plan is made, how it would have gone if a job were different."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from rota.engine.decide import Cycle, Refused
from rota.engine.explaining.idle import without_jobs
from rota.engine.order import effective_priority
from rota.engine.placing.place import would_place
from rota.engine.placing.work import Seat, Work
from rota.engine.scope import queue_named, scheduler_for
from rota.model.explanation import NOW
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate
from rota.model.reasons import OutsideReservation, TooEarly
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


class WhatIf(Cycle):
    @property
    def now_ms(self) -> int:
        return self._now_ms

    def make_way(self, job: Job) -> None:
        """Takes a waiting job out of the calendar, before trials of it."""
        self._ahead.make_way(job)

    def trial(self, refused: Refused, job: Job, template: JobTemplate) -> Trial | None:
        """When and where a waiting job would start if it were like this, as the plan leaves board and
        calendar. Nothing is changed by asking."""
        changed = replace(job, template=template)
        work = self._work_to_try(refused, changed)
        if work is None:
            return None
        closed = self._gates.closed_to(changed)
        if closed is None and (found := self._trial_now(changed, work)):
            return found
        if closed is not None and not isinstance(closed, _OPEN_IN_TIME):
            return None
        return self._trial_later(changed, work)

    def trial_when_idle(self, refused: Refused, job: Job, template: JobTemplate) -> Trial | None:
        """Where it could start if nothing ran and nothing was announced; nobody knows when."""
        cycle, changed = self._when_idle, replace(job, template=template)
        work = cycle._work_to_try(refused, changed)
        found = None if work is None else cycle._trial_now(changed, work)
        return None if found is None else dataclasses.replace(found, start_ms=None)

    @cached_property
    def _when_idle(self) -> WhatIf:
        idle = dataclasses.replace(without_jobs(self.snapshot), waiting=self.snapshot.waiting)
        return WhatIf(idle, self._policy, self._now_ms, self._plugins)

    def _work_to_try(self, refused: Refused, job: Job) -> Work | None:
        scheduler = scheduler_for(job.template, self._policy.schedulers)
        if scheduler is None:
            return None
        self._enter(scheduler, queue_named(job.template.queue, scheduler))
        key = replace_template(refused.cursor.lane.key, job.template)
        return self._books.allowed(job.template, self._compiler.compiled(key, job))

    def _trial_now(self, job: Job, work: Work) -> Trial | None:
        template = job.template
        with self._board.without(self._ahead.kept_back(template, self._queue)):
            seats = would_place(work, self._board)
        if seats is not None:
            return self._tried(seats)
        waited_ms = self._now_ms - job.submitted_ms
        priority = effective_priority(template, job.retries, waited_ms, self._scheduler.promotion)
        if template.reservation or not self._evictor.may_make_room(template, priority):
            return None
        checkpoint = self._board.checkpoint()
        with self._board.without(self._ahead.kept_from_evictors(template)):
            fits = self._ahead.is_open and self._fits_but_for_plans(work)
            done = None if fits else self._evictor.preempted(job, priority, work)
        delays = done is not None and self._would_delay(template, work, done)
        self._board.rollback(checkpoint)
        if done is None or delays:
            return None
        running = self.snapshot.running.tasks
        evicted = {running[task].job.id for unit in done.victims for task in unit.tasks}
        return self._tried(done.seats, tuple(sorted(evicted)))

    def _trial_later(self, job: Job, work: Work) -> Trial | None:
        if not self._ahead.may_plan(self._queue):
            return None
        slot = self._ahead.find(job, work, self._queue, max(self._now_ms, job.start_after_ms))
        return None if slot is None else self._tried(slot.seats, start_ms=slot.start_ms)

    def _tried(
        self, seats: Iterable[Seat], evicted: tuple[JobId, ...] = (), start_ms: int | None = NOW
    ) -> Trial:
        names = self.snapshot.nodes.names
        return Trial(tuple(names[seat.position] for seat in seats), evicted, start_ms)
