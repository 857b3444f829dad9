"""Evictions of a cycle, and making room: for a job with a higher class, or for a quota taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from rota.engine.evicting.one_node import Broken, nothing_broken, preempt_on_one_node
from rota.engine.evicting.preempt import preempt
from rota.engine.evicting.sparing import Preempted, spare_by_trial
from rota.engine.evicting.victims import Unit, Victims
from rota.engine.order import effective_priority
from rota.engine.placing.board import Board
from rota.engine.placing.place import place
from rota.engine.placing.topology import Footprint
from rota.engine.placing.work import Seat, Work
from rota.engine.plugin import Disruptions
from rota.engine.tenants.books import Books
from rota.model.ids import JobId
from rota.model.job import AtMaintenance, Job, JobTemplate, Priority
from rota.model.plan import Eviction, EvictionCause
from rota.model.policy import Preemption, Promotion, Reclaim
from rota.model.reasons import reason_of_eviction
from rota.model.verdict import Kind, Refusal, Verdict
from rota.snapshot.arrays import Bools, Int64s
from rota.snapshot.state import Snapshot


def may_preempt(template: JobTemplate, priority: int) -> bool:
    """Medium and above preempt what is lower; Low and Batch preempt nobody."""
    return template.may_preempt if template.may_preempt is not None else priority >= Priority.MEDIUM


@dataclass(frozen=True, eq=False, slots=True)
class Claim:
    """A job that others may have to go for, and the rules under which they may."""

    job: Job
    priority: int
    rules: Preemption

    @property
    def template(self) -> JobTemplate:
        return self.job.template

    @property
    def may_preempt(self) -> bool:
        return may_preempt(self.job.template, self.priority)


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
        disruptions: Disruptions | None = None,
    ) -> None:
        self._promotion_of = promotion_of
        self._disruptions = disruptions
        self._is_sparing = False
        """Whether tasks that a budget holds are left alone."""
        self._evicts_elsewhere = evicts_elsewhere
        self._snapshot = snapshot
        self._board = board
        self._books = books
        self._reclaim = reclaim
        self._now_ms = now_ms
        self._footprint = footprint
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

    @property
    def victims(self) -> Victims:
        if self._victims is None:
            self._victims = Victims(self._snapshot, self._board, self._priorities, self._footprint)
        return self._victims

    # -- for a job

    def may_make_room(self, claim: Claim) -> bool:
        """Whether there is anybody at all who might have to go for it."""
        if not claim.rules.enabled or not len(self._snapshot.running):
            return False
        is_lower = claim.may_preempt and int(self._priorities.min()) < claim.priority
        return is_lower or self._books.quotas.any

    def make_room(self, claim: Claim, work: Work) -> Preempted | None:
        """Evicts what it takes to place the job, and places it, both on the board; or nothing.
        What was placed may be less than the work where a quota allows no more."""
        if self._disruptions is not None and not self._is_one_pod(work):
            self._is_sparing = True
            done = self._make_room(claim, work)
            self._is_sparing = False
            if done is not None:
                return done
        return self._make_room(claim, work)

    def _make_room(self, claim: Claim, work: Work) -> Preempted | None:
        self._taken_back.clear()
        checkpoint = self._board.checkpoint()
        allowed = self._books.allowed(claim.template, work)
        if allowed is None:
            done = self._take_back(claim, work)
        else:
            done = self.preempted(claim, allowed)
            if done is None:
                done = self._reclaimed_from_borrowers(claim, allowed)
        if done is not None and allowed is not work:
            # Victims leave quota as well as room: now it shows who has to go, and how much can start.
            self._board.rollback(checkpoint)
            placed = partial(self._placed, claim, work)
            done = spare_by_trial(done.victims, self.victims, self._board, placed, self._credit)
        return done

    def preempted(self, claim: Claim, work: Work) -> Preempted | None:
        if not claim.may_preempt:
            return None
        eligible = self.eligible(claim)
        if self._is_one_pod(work):
            return preempt_on_one_node(work, self._board, self.victims, eligible, self._broken)
        return preempt(work, self._board, self.victims, eligible)

    def _is_one_pod(self, work: Work) -> bool:
        """All who go for it must be on its node; that says itself which budgets it would break."""
        return work.total == 1 and not self._evicts_elsewhere and not self._books.quotas.any

    @cached_property
    def _broken(self) -> Broken:
        disruptions, running = self._disruptions, self._snapshot.running.tasks
        if disruptions is None:
            return nothing_broken
        return lambda tasks: disruptions.broken_by([running[task] for task in tasks])

    @cached_property
    def _held(self) -> Bools:
        """Running tasks that no budget allows to end now, even alone."""
        held = [self._broken([task])[0] for task in range(len(self._snapshot.running))]
        return np.array(held, dtype=np.bool_)

    def _reclaimed_from_borrowers(self, claim: Claim, work: Work) -> Preempted | None:
        """The quotas would allow it, but the nodes are short: borrowers make room for an owner."""
        if not self._books.quotas.any or self._reclaim is Reclaim.NEVER:
            return None
        if not self._books.may_reclaim(claim.template, work):
            return None
        eligible = np.zeros(len(self.victims.running), dtype=np.bool_)
        charged = []
        for unit in self._quota_holders(claim, work):
            if not self._is_own(claim.template, unit) and any(map(self._borrows, unit.tasks)):
                eligible[list(unit.tasks)] = True
                self._credit(unit.tasks, -1)
                charged.append(unit)
        for unit in charged:
            self._credit(unit.tasks, 1)
        if claim.may_preempt:
            eligible |= self.eligible(claim)
        return preempt(work, self._board, self.victims, eligible)

    def eligible(self, claim: Claim, below: int | None = None) -> Bools:
        """Running tasks that this job may evict: lower in class, preemptible, run long enough, and
        not of a job that had evicted it before. `below`: another class than its own to be lower than."""
        job, priority = claim.job, claim.priority if below is None else below
        victims, running = self.victims, self.victims.running
        # What runs inside of a reservation would leave its room to those inside.
        reserved = {one.name for one in self._snapshot.calendar.reservations}
        preemptible = np.array(
            [one.preemptible and one.reservation not in reserved for one, _ in running.kinds], dtype=np.bool_
        )
        ran = self._now_ms - running.started_ms >= claim.rules.min_run_ms
        eligible = victims.alive & (victims.priorities < priority) & ran & preemptible[running.spec]
        if self._is_sparing:
            eligible = eligible & ~self._held
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

    def _take_back(self, claim: Claim, work: Work) -> Preempted | None:
        """Makes room in the quotas: takes back what others have borrowed, and evicts what is lower
        in class of the tenant's own, until the quotas and the nodes have room."""
        victims, checkpoint = self.victims, self._board.checkpoint()
        taken: list[int] = []
        for unit in self._quota_holders(claim, work):
            is_own = self._is_own(claim.template, unit)
            if not is_own and not any(map(self._borrows, unit.tasks)):
                continue
            if not is_own:
                self._taken_back.add(unit.job)
            self._credit(unit.tasks, -1)
            victims.lift(unit.tasks)
            victims.alive[list(unit.tasks)] = False
            taken += unit.tasks
            seats = self._placed(claim, work)
            if seats is not None:
                done: Preempted | None = Preempted(seats, [])
                break
        else:
            allowed = self._books.allowed(claim.template, work)
            done = None if allowed is None else self.preempted(claim, allowed)
        # Evictions are charged where they are put on record; until then the books are as before.
        self._credit(taken, 1)
        victims.alive[taken] = True
        if done is None:
            self._board.rollback(checkpoint)
            return None
        gone = taken + [task for unit in done.victims for task in unit.tasks]
        return Preempted(done.seats, victims.units(gone, victims.alive))

    def _quota_holders(self, claim: Claim, work: Work) -> list[Unit]:
        """Running units whose eviction could make room in the quotas, the least valuable first."""
        template, running = claim.template, self.victims.running
        are_one = self._books.quotas.are_one
        own = np.array([are_one(kind, template) for kind, _ in running.kinds])[running.spec]
        eligible = np.zeros(len(running), dtype=np.bool_)
        if self._reclaim is not Reclaim.NEVER and self._books.may_reclaim(template, work):
            ceiling = claim.priority if self._reclaim is Reclaim.LOWER_PRIORITY else Priority.CRITICAL + 1
            eligible |= self.eligible(claim, ceiling) & ~own
        if claim.may_preempt:
            eligible |= self.eligible(claim) & own
        units = self.victims.units(self.victims.candidates(eligible)[0].tolist(), eligible)
        usable = np.logical_or.reduce([signature.static_mask for signature in work.signatures])
        helps = {id(unit): any(usable[running.node[task]] for task in unit.tasks) for unit in units}
        least_valuable_first = sorted(units, key=Unit.value, reverse=True)
        return sorted(least_valuable_first, key=lambda unit: not helps[id(unit)])

    def _placed(self, claim: Claim, work: Work) -> list[Seat] | None:
        """Places as much of the job as quotas and nodes have room for now, if that is enough."""
        allowed = self._books.allowed(claim.template, work)
        return None if allowed is None else place(allowed, self._board)

    def _is_own(self, template: JobTemplate, unit: Unit) -> bool:
        return self._books.quotas.are_one(self._template_of(unit), template)

    def _template_of(self, unit: Unit) -> JobTemplate:
        return self.victims.running.tasks[unit.tasks[0]].job.template

    def cause_of(self, claim: Claim, unit: Unit) -> EvictionCause:
        """Of a unit that the last room was made by: reclaimed for a quota, or preempted by class."""
        by_class = unit.priority < claim.priority and claim.may_preempt
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
