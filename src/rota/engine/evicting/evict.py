"""Evictions of a cycle: for a job with a higher class, for a quota taken back, for a taint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rota.engine.calendar.entries import positions_of
from rota.engine.evicting.preempt import Preempted, preempt, preempt_on_one_node, spare_by_trial
from rota.engine.evicting.victims import Unit, Victims
from rota.engine.order import effective_priority
from rota.engine.placing.board import Board
from rota.engine.placing.place import place
from rota.engine.placing.topology import Footprint
from rota.engine.placing.work import Seat, Work
from rota.engine.tenants.books import Books
from rota.model.ids import JobId
from rota.model.job import AtMaintenance, Job, JobTemplate, Priority
from rota.model.plan import Eviction, EvictionCause
from rota.model.policy import Promotion, Reclaim, SchedulerPolicy
from rota.model.reasons import reason_of_eviction
from rota.model.taints import Effect, bears_until_ms
from rota.model.verdict import Kind, Refusal, Verdict
from rota.snapshot.state import Snapshot

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


def may_preempt(template: JobTemplate, priority: int) -> bool:
    """Medium and above preempt what is lower; Low and Batch preempt nobody."""
    return template.may_preempt if template.may_preempt is not None else priority >= Priority.MEDIUM


class Evictor:
    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        books: Books,
        reclaim: Reclaim,
        now_ms: int,
        footprint: Callable[[int], Footprint],
        promotion_of: Callable[[JobTemplate], Promotion],
        evicts_elsewhere: bool = True,
    ) -> None:
        self._promotion_of = promotion_of
        self._evicts_elsewhere = evicts_elsewhere
        self._snapshot = snapshot
        self._board = board
        self._books = books
        self._reclaim = reclaim
        self._now_ms = now_ms
        self._footprint = footprint
        self._scheduler = SchedulerPolicy(name="")
        self._victims: Victims | None = None
        self._job_number: dict[JobId, int] | None = None
        self.evictions: list[Eviction] = []
        self.lost: dict[JobId, Verdict] = {}
        """Jobs evicted in this cycle, and why."""
        self.untouchable: set[JobId] = set()
        """Running jobs that got more in this cycle, or whose partners started: nobody evicts them in
        the same breath."""
        self.evicted: set[tuple[JobId, int]] = set()
        self._taken_back: set[int] = set()
        """Numbers of the jobs that were last evicted because their tenants had borrowed."""

    def enter(self, scheduler: SchedulerPolicy) -> None:
        self._scheduler = scheduler

    @property
    def victims(self) -> Victims:
        if self._victims is None:
            self._victims = Victims(self._snapshot, self._board, self._priorities, self._footprint)
        return self._victims

    # -- for a job

    def may_make_room(self, template: JobTemplate, priority: int) -> bool:
        """Whether there is anybody at all who might have to go for it."""
        if not self._scheduler.preemption.enabled or not len(self._snapshot.running):
            return False
        is_lower = may_preempt(template, priority) and int(self._priorities.min()) < priority
        return is_lower or self._books.quotas.any

    def make_room(self, job: Job, priority: int, work: Work) -> Preempted | None:
        """Evicts what it takes to place the job, and places it, both on the board; or nothing.
        What was placed may be less than the work where a quota allows no more."""
        self._taken_back.clear()
        checkpoint = self._board.checkpoint()
        allowed = self._books.allowed(job.template, work)
        if allowed is None:
            done = self._take_back(job, priority, work)
        else:
            done = self.preempted(job, priority, allowed)
            if done is None:
                done = self._reclaimed_from_borrowers(job, priority, allowed)
        if done is not None and allowed is not work:
            # Victims leave quota as well as room: now it shows who has to go, and how much can start.
            self._board.rollback(checkpoint)
            placed = partial(self._placed, job, work)
            done = spare_by_trial(done.victims, self.victims, self._board, placed, self._credit)
        return done

    def preempted(self, job: Job, priority: int, work: Work) -> Preempted | None:
        if not may_preempt(job.template, priority):
            return None
        eligible = self._eligible(job, priority)
        if work.total == 1 and not self._evicts_elsewhere:
            return preempt_on_one_node(work, self._board, self.victims, eligible)
        return preempt(work, self._board, self.victims, eligible)

    def _reclaimed_from_borrowers(self, job: Job, priority: int, work: Work) -> Preempted | None:
        """The quotas would allow it, but the nodes are short: borrowers make room for an owner."""
        if not self._books.quotas.any or self._reclaim is Reclaim.NEVER:
            return None
        if not self._books.may_reclaim(job.template, work):
            return None
        eligible = np.zeros(len(self.victims.running), dtype=np.bool_)
        charged = []
        for unit in self._quota_holders(job, priority, work):
            if not self._is_own(job.template, unit) and any(map(self._borrows, unit.tasks)):
                eligible[list(unit.tasks)] = True
                self._credit(unit.tasks, -1)
                charged.append(unit)
        for unit in charged:
            self._credit(unit.tasks, 1)
        if may_preempt(job.template, priority):
            eligible |= self._eligible(job, priority)
        return preempt(work, self._board, self.victims, eligible)

    def _eligible(self, job: Job, priority: int) -> Bools:
        """Running tasks that this job may evict: lower in class, preemptible, run long enough, and
        not of a job that had evicted it before."""
        victims, running = self.victims, self.victims.running
        # What runs inside of a reservation would leave its room to those inside.
        reserved = {one.name for one in self._snapshot.calendar.reservations}
        preemptible = np.array(
            [one.preemptible and one.reservation not in reserved for one, _ in running.kinds], dtype=np.bool_
        )
        ran = self._now_ms - running.started_ms >= self._scheduler.preemption.min_run_ms
        eligible = victims.alive & (victims.priorities < priority) & ran & preemptible[running.spec]
        partner = {JobId(job.template.connect_to)} if job.template.connect_to else set()
        spared = self._numbers_of({*job.preempted_by, *self.untouchable, *partner})
        if self._snapshot.jobs[job.id].placements:
            spared += self._numbers_of({job.id})
        return eligible & ~np.isin(running.job, spared) if spared else eligible

    def _numbers_of(self, jobs: set[JobId]) -> list[int]:
        if not jobs:
            return []
        if self._job_number is None:
            numbered = enumerate(self._snapshot.running.jobs)
            self._job_number = {job.id: number for number, job in numbered}
        return [self._job_number[job] for job in jobs if job in self._job_number]

    @cached_property
    def _priorities(self) -> Int64s:
        """Of each running task the priority it had when it started: what it rose to under its own
        scheduler, it keeps."""
        running = self._snapshot.running
        promotions = [self._promotion_of(template) for template, _ in running.kinds]
        if all(one.every_ms is None and one.retry_budget is None for one in promotions):
            by_kind = np.array([template.priority for template, _ in running.kinds], dtype=np.int64)
            return by_kind[running.spec] if len(running) else np.empty(0, dtype=np.int64)
        risen = (
            effective_priority(
                task.job.template,
                task.job.retries,
                task.placement.started_ms - task.job.submitted_ms,
                promotions[kind],
            )
            for task, kind in zip(running.tasks, running.spec.tolist(), strict=True)
        )
        return np.fromiter(risen, np.int64, len(running))

    # -- for a quota

    def _take_back(self, job: Job, priority: int, work: Work) -> Preempted | None:
        """Makes room in the quotas: takes back what others have borrowed, and evicts what is lower
        in class of the tenant's own, until the quotas and the nodes have room."""
        victims, checkpoint = self.victims, self._board.checkpoint()
        taken: list[int] = []
        for unit in self._quota_holders(job, priority, work):
            is_own = self._is_own(job.template, unit)
            if not is_own and not any(map(self._borrows, unit.tasks)):
                continue
            if not is_own:
                self._taken_back.add(unit.job)
            self._credit(unit.tasks, -1)
            victims.lift(unit.tasks)
            victims.alive[list(unit.tasks)] = False
            taken += unit.tasks
            seats = self._placed(job, work)
            if seats is not None:
                done: Preempted | None = Preempted(seats, [])
                break
        else:
            allowed = self._books.allowed(job.template, work)
            done = None if allowed is None else self.preempted(job, priority, allowed)
        # Evictions are charged where they are put on record; until then the books are as before.
        self._credit(taken, 1)
        victims.alive[taken] = True
        if done is None:
            self._board.rollback(checkpoint)
            return None
        gone = taken + [task for unit in done.victims for task in unit.tasks]
        return Preempted(done.seats, victims.units(gone, victims.alive))

    def _quota_holders(self, job: Job, priority: int, work: Work) -> list[Unit]:
        """Running units whose eviction could make room in the quotas, the least valuable first."""
        template, running = job.template, self.victims.running
        are_one = self._books.quotas.are_one
        own = np.array([are_one(kind, template) for kind, _ in running.kinds])[running.spec]
        eligible = np.zeros(len(running), dtype=np.bool_)
        if self._reclaim is not Reclaim.NEVER and self._books.may_reclaim(template, work):
            ceiling = priority if self._reclaim is Reclaim.LOWER_PRIORITY else Priority.CRITICAL + 1
            eligible |= self._eligible(job, ceiling) & ~own
        if may_preempt(template, priority):
            eligible |= self._eligible(job, priority) & own
        units = self.victims.units(self.victims.candidates(eligible)[0].tolist(), eligible)
        usable = np.logical_or.reduce([signature.static_mask for signature in work.signatures])
        helps = {id(unit): any(usable[running.node[task]] for task in unit.tasks) for unit in units}
        least_valuable_first = sorted(units, key=Unit.value, reverse=True)
        return sorted(least_valuable_first, key=lambda unit: not helps[id(unit)])

    def _placed(self, job: Job, work: Work) -> list[Seat] | None:
        """Places as much of the job as quotas and nodes have room for now, if that is enough."""
        allowed = self._books.allowed(job.template, work)
        return None if allowed is None else place(allowed, self._board)

    def _is_own(self, template: JobTemplate, unit: Unit) -> bool:
        return self._books.quotas.are_one(self._template_of(unit), template)

    def _template_of(self, unit: Unit) -> JobTemplate:
        return self.victims.running.tasks[unit.tasks[0]].job.template

    def cause_of(self, job: Job, priority: int, unit: Unit) -> EvictionCause:
        """Of a unit that the last room was made by: reclaimed for a quota, or preempted by class."""
        by_class = unit.priority < priority and may_preempt(job.template, priority)
        is_reclaimed = unit.job in self._taken_back or not by_class
        return EvictionCause.RECLAIMED if is_reclaimed else EvictionCause.PREEMPTED

    def _borrows(self, task: int) -> bool:
        kind = int(self.victims.running.spec[task])
        template = self.victims.running.kinds[kind][0]
        return self._books.quotas.borrows(template, self.victims.demands[kind].take)

    def _credit(self, tasks: Iterable[int], sign: int) -> None:
        running = self.victims.running
        for task in tasks:
            kind = int(running.spec[task])
            self._books.charge(running.kinds[kind][0], self.victims.demands[kind].take, sign)

    # -- for a taint

    def by_taints(self) -> None:
        """NoExecute: what runs there without the toleration goes, once its time is over."""
        nodes, running = self._snapshot.nodes, self._snapshot.running
        expelling = [
            [taint for taint in taints if taint.effect is Effect.NO_EXECUTE] for taints in nodes.taint_sets
        ]
        if not any(expelling) or not len(running):
            return
        taint_set = nodes.taint_set[running.node]
        there = np.flatnonzero(np.array([bool(taints) for taints in expelling])[taint_set])
        gone = np.zeros(len(running), dtype=np.bool_)
        for task, number in zip(there.tolist(), taint_set[there].tolist(), strict=True):
            template, group = running.kinds[int(running.spec[task])]
            tolerations = template.groups[group].spec.tolerations
            until = [bears_until_ms(taint, tolerations) for taint in expelling[number]]
            gone[task] = any(end is not None and end <= self._now_ms for end in until)
        self._evict_marked(gone, EvictionCause.TAINT)

    def by_maintenance(self) -> None:
        """What still runs on nodes whose maintenance has begun goes."""
        nodes, running = self._snapshot.nodes, self._snapshot.running
        gone = np.zeros(len(running), dtype=np.bool_)
        for window in self._snapshot.calendar.maintenance:
            if window.start_ms <= self._now_ms < window.end_ms:
                gone |= np.isin(running.node, positions_of(nodes, window.nodes))
        if gone.any():
            gone &= self.victims.alive
            self._evict_marked(gone, EvictionCause.MAINTENANCE)

    def _evict_marked(self, gone: Bools, cause: EvictionCause) -> None:
        """These tasks, and the rest of gangs that can't do without them."""
        running = self._snapshot.running
        for job in sorted(set(running.job[gone].tolist())):
            members = self.victims.tasks_of(job)
            leaving = [task for task in members if gone[task]]
            if len(members) - len(leaving) < running.min_running[job]:
                leaving = members
            self.victims.lift(leaving)
            self.record(leaving, cause, JobId(""))

    # -- on record

    def record(self, tasks: Iterable[int], cause: EvictionCause, preemptor: JobId) -> None:
        """Puts evictions into the plan and the books; the board has been told already."""
        tasks = list(tasks)
        self.victims.alive[tasks] = False
        self._credit(tasks, -1)
        verdict = Verdict(Kind.NOT_NOW, (Refusal(reason_of_eviction(cause, preemptor), 0),))
        for task in tasks:
            entry = self._snapshot.running.tasks[task]
            placement = entry.placement
            ends = (
                cause is EvictionCause.MAINTENANCE and entry.job.template.at_maintenance is AtMaintenance.END
            )
            self.evictions.append(
                Eviction(entry.job.id, placement.rank, placement.node, cause, preemptor, ends)
            )
            self.evicted.add((entry.job.id, placement.rank))
            self.lost.setdefault(entry.job.id, verdict)
