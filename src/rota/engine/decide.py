"""One pure function decides: `decide(snapshot, policy, now) -> Plan`.

    order ──► place ──► (preempt) ──► bind, evict, or wait with a verdict
    who is    where:     whom to
    next      filter,    evict
              score,
              gang

No clock, no randomness, no I/O: the same arguments give the same plan in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rota.engine.board import Board
from rota.engine.fairshare import Shares
from rota.engine.order import Cursor, Order, Run, effective_priority, order_of
from rota.engine.place import Seat, Work, place, place_equal
from rota.engine.plugin import Plugin, PluginMaker, Plugins, TaskView
from rota.engine.preempt import Preempted, Unit, Victims, preempt
from rota.engine.quota import Quotas
from rota.engine.signature import ActivePlugin, Signature
from rota.engine.topology import Footprint, Topology
from rota.engine.verdicts import NodeRefusal, verdict_of
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, Priority
from rota.model.plan import Binding, Eviction, EvictionCause, Plan, PluginFault, Waiting
from rota.model.policy import (
    PluginConfig,
    Policy,
    QueuePolicy,
    QueueStrategy,
    Reclaim,
    SchedulerPolicy,
    Strategy,
)
from rota.model.taints import Effect, bears_until_ms
from rota.model.task import TaskSpec
from rota.model.verdict import Code, Kind, Reason, Refusal, Unblock, Verdict
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane, LaneKey, replace_template

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

_SIGNATURES_KEPT = 1024
_NO_POOL = "\0"
"""Matches no pool: the job, its queue and its tenant have none in common."""


def decide(snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins) -> Plan:
    cycle = Cycle(snapshot, policy, now_ms, plugins)
    cycle.run()
    return cycle.plan()


@dataclass(eq=False)
class Refused:
    """A lane from `cursor.at` on, why it waits, and what had happened by then."""

    cursor: Cursor
    verdict: Verdict
    nodes: list[NodeRefusal]
    placed_before: int
    evicted_before: int


@dataclass(frozen=True)
class Trial:
    """Where a job would go, and who would have to go for it."""

    nodes: tuple[NodeName, ...]
    evicts: tuple[JobId, ...]


class Watch(Protocol):
    """Told when one job is about to be placed: how explanations look over the shoulder."""

    job: JobId

    def placing(self, work: Work, board: Board) -> None: ...


class Cycle:
    """The working state of one decision. Everything in it dies with the plan."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now_ms: int,
        plugins: Plugins,
        watch: Watch | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.now_ms = now_ms
        self.plugins = plugins
        self.board = Board(snapshot)
        self.shares = Shares(snapshot, policy.fair_share, now_ms)
        self.quotas = Quotas(snapshot, policy.fair_share)
        self._watch = watch
        self._topology = Topology(snapshot.nodes, snapshot.running)
        self._topology.prepare(self._kinds())
        self._footprints: dict[int, Footprint] = {}
        self._victims: Victims | None = None
        self._signatures: dict[object, Signature] = {}
        self._works: dict[int, Work] = {}
        self._tenant_pools = {tenant.path: tenant.pools for tenant in policy.fair_share.tenants}
        self._active: tuple[ActivePlugin, ...] = ()
        self._silenced: set[str] = set()
        self._scheduler = SchedulerPolicy(name="")
        self._queue = QueuePolicy()
        self._current: JobId = JobId("")
        self._bindings: list[Binding] = []
        self._evictions: list[Eviction] = []
        self._faults: list[PluginFault] = []
        self._cursors: dict[int, Cursor] = {}
        self._refused: dict[int, Refused] = {}
        self._lost: dict[JobId, Verdict] = {}
        """Jobs evicted in this cycle, and why."""
        self._started: set[JobId] = set()
        """Jobs that got something in this cycle."""
        self._grown: set[JobId] = set()
        """Those of them that ran before: nobody evicts them in the same breath."""
        self._job_number: dict[JobId, int] | None = None

    def _kinds(self) -> set[tuple[str, TaskSpec]]:
        kinds = {
            (template.namespace, template.groups[group].spec)
            for template, group in self.snapshot.running.kinds
        }
        for lane in self.snapshot.waiting.lanes():
            template = lane.key.template
            kinds.update((template.namespace, group.spec) for group in template.groups)
        return kinds

    def run(self) -> None:
        self._evict_by_taints()
        for scheduler, queues in self._lanes_by_queue():
            for queue, lanes in queues:
                self._enter(scheduler, queue)
                self._serve(lanes)
                while again := self._unblocked(lanes):
                    self._serve(again)

    def _enter(self, scheduler: SchedulerPolicy, queue: QueuePolicy) -> None:
        """What is decided from here on is decided for this queue of this scheduler."""
        if scheduler is not self._scheduler:
            self._signatures.clear()
            self._works.clear()
            self._active = self._activate(scheduler)
            self._scheduler = scheduler
        self._queue = queue

    def plan(self) -> Plan:
        self._tell_plugins()
        waiting = [
            Waiting(tuple(job.id for job in refused.cursor.jobs[refused.cursor.at :]), refused.verdict)
            for refused in self._refused.values()
        ]
        lost = self._lost
        if lost:
            waiting = [
                replace(entry, jobs=tuple(job for job in entry.jobs if job not in lost)) for entry in waiting
            ]
            waiting += [Waiting((job,), verdict) for job, verdict in lost.items()]
        waiting = sorted((entry for entry in waiting if entry.jobs), key=lambda entry: entry.jobs[0])
        return Plan(tuple(self._bindings), tuple(self._evictions), tuple(waiting), tuple(self._faults))

    # -- who is served, in which order

    def _lanes_by_queue(
        self,
    ) -> list[tuple[SchedulerPolicy, list[tuple[QueuePolicy, list[Lane]]]]]:
        schedulers = self.policy.schedulers
        sorted_out: dict[str, dict[str, list[Lane]]] = {one.name: {} for one in schedulers}
        for lane in self.snapshot.waiting.lanes():
            scheduler = scheduler_for(lane.key.template, schedulers)
            if scheduler is None:
                self._refuse_outright(lane)
            else:
                queue = lane.key.template.queue
                sorted_out[scheduler.name].setdefault(queue, []).append(lane)
        result = []
        for scheduler in schedulers:
            queues = [
                (queue_named(name, scheduler), lanes) for name, lanes in sorted_out[scheduler.name].items()
            ]
            queues.sort(key=lambda entry: (entry[0].order, entry[0].name))
            result.append((scheduler, queues))
        return result

    def _serve(self, lanes: Iterable[Lane]) -> None:
        cursors = [self._cursor(lane) for lane in lanes]
        order = order_of(cursors, self._queue, self.shares)
        while (run := order.next()) is not None:
            served = self._place_run(run)
            if served:
                order.served(run, served)
                continue
            order.drop(run)
            if self._queue.strict:
                self._hold_behind(run.head, order)

    def _cursor(self, lane: Lane) -> Cursor:
        """How far this cycle has come in a lane; kept, since a lane may be asked again."""
        cursor = self._cursors.get(lane.number)
        if cursor is None:
            by_priority = self._queue.strategy is not QueueStrategy.FIFO
            jobs, start = lane.view()
            cursor = self._cursors[lane.number] = Cursor(
                lane, jobs, start, self.now_ms, self._scheduler.promotion, by_priority
            )
        return cursor

    def _hold_behind(self, first: Job, order: Order) -> None:
        """Nobody overtakes in a strict queue: everyone behind the first that can't start waits."""
        verdict = Verdict(Kind.NOT_NOW, (Refusal(Reason(Code.STRICT_QUEUE, first.id), 0),))
        while (run := order.next()) is not None:
            self._note_refusal(run.cursor, verdict, [])
            order.drop(run)

    def _unblocked(self, lanes: Iterable[Lane]) -> list[Lane]:
        """Lanes that were refused before something happened that could let them start."""
        found = []
        for lane in lanes:
            refused = self._refused.get(lane.number)
            if refused is None:
                continue
            events = refused.verdict.unblocked_by
            placed = len(self._bindings) > refused.placed_before and Unblock.TASK_PLACED in events
            freed = len(self._evictions) > refused.evicted_before and Unblock.TASK_ENDED in events
            if placed or freed:
                found.append(lane)
        return found

    # -- placing

    def _place_run(self, run: Run) -> int:
        """Places jobs of the run, and says how many. None placed: the refusal is on record."""
        lane = run.cursor.lane
        self._current = run.head.id
        reason = self._not_yet(run.head)
        if reason is not None:
            self._note_refusal(run.cursor, Verdict(reason.kind, (Refusal(reason, 0),)), [])
            return 0
        work = self._work(lane, run.head)
        watched = self._watch is not None and any(job.id == self._watch.job for job in run.jobs(run.length))
        single = lane.key.ranks is None and work.total == 1 and not work.topology
        if single and not watched and not self.quotas.any:
            placed = self._place_singles(run, work.signatures[0])
            if placed:
                return placed
        elif self._place_one(run, work):
            return 1
        return 1 if self._preempt_for(run, work) else self._refuse(run, work)

    def _place_singles(self, run: Run, signature: Signature) -> int:
        before = self.board.checkpoint()
        positions = place_equal(signature, self.board, run.length)
        if not positions:
            return 0
        names = self.snapshot.nodes.names
        if len(positions) == 1:
            jobs = [run.head]
        else:
            jobs = run.jobs(len(positions))
        if signature.demand.uses_gpu:
            devices = self.board.devices_since(before)
            self._bindings += [
                Binding(job.id, 0, names[at], got)
                for job, at, got in zip(jobs, positions, devices, strict=True)
            ]
        else:
            self._bindings += [Binding(job.id, 0, names[at]) for job, at in zip(jobs, positions, strict=True)]
        self._started.update(job.id for job in jobs)
        self._charge(run.head.template, signature.demand.take, len(jobs))
        return len(jobs)

    def _place_one(self, run: Run, work: Work) -> bool:
        if self._watch is not None and run.head.id == self._watch.job:
            self._watch.placing(work, self.board)
        allowed = self._within_quota(run.head.template, work)
        if allowed is None:
            return False
        seats = place(allowed, self.board)
        if seats is None:
            return False
        self._bind(run, work, seats)
        return True

    def _within_quota(self, template: JobTemplate, work: Work) -> Work | None:
        """The work, cut down to what the quotas allow; None: they don't allow what is needed."""
        if not self.quotas.any:
            return work
        if len(work.counts) > 1:
            answer = self.quotas.ask(template, self._amounts(work), 1)
            return work if answer.at_once else None
        answer = self.quotas.ask(template, work.signatures[0].demand.take, work.total)
        if answer.at_once >= work.total:
            return work
        if answer.at_once < work.needed:
            return None
        return Work(work.signatures, (answer.at_once,), work.needed, work.topology, work.placed_at)

    def _amounts(self, work: Work) -> Int64s:
        total: Int64s = np.zeros(len(self.snapshot.nodes.index), dtype=np.int64)
        for signature, count in zip(work.signatures, work.counts, strict=True):
            total += signature.demand.take * count
        return total

    def _bind(self, run: Run, work: Work, seats: list[Seat]) -> None:
        job, key = run.head, run.cursor.lane.key
        names = self.snapshot.nodes.names
        ranks = [iter(group) for group in key.ranks_by_group()]
        for seat in seats:
            self._bindings.append(
                Binding(job.id, next(ranks[seat.group]), names[seat.position], seat.devices)
            )
            self._charge(job.template, work.signatures[seat.group].demand.take)
        self._started.add(job.id)
        if key.ranks is not None:
            self._grown.add(job.id)

    def _charge(self, template: JobTemplate, amounts: Int64s, count: int = 1) -> None:
        self.shares.charge(template, amounts, count)
        if self.quotas.any:
            self.quotas.charge(template, amounts, count)

    def _not_yet(self, job: Job) -> Reason | None:
        """What keeps the job back whatever room there is."""
        if job.id in self._lost:
            return Reason(Code.PREEMPTED)
        partner = job.template.connect_to
        if partner and not self._is_placed(JobId(partner)):
            return Reason(Code.PARTNER, partner)
        return None

    def _is_placed(self, job_id: JobId) -> bool:
        record = self.snapshot.jobs.get(job_id)
        runs = record is not None and bool(record.placements) and job_id not in self._lost
        return runs or job_id in self._started

    # -- what if

    def trial(self, refused: Refused, job: Job, template: JobTemplate) -> Trial | None:
        """Whether a waiting job could start if it were like this, as the plan leaves the board.
        Nothing is changed by asking."""
        scheduler = scheduler_for(template, self.policy.schedulers)
        if scheduler is None:
            return None
        self._enter(scheduler, queue_named(template.queue, scheduler))
        key = replace_template(refused.cursor.lane.key, template)
        work = self._within_quota(template, self._compile(key, job))
        if work is None:
            return None
        checkpoint = self.board.checkpoint()
        seats, victims = place(work, self.board), []
        priority = effective_priority(
            template, job.retries, self.now_ms - job.submitted_ms, scheduler.promotion
        )
        if seats is None and scheduler.preemption.enabled and may_preempt(template, priority):
            done = preempt(work, self.board, self.victims, self._eligible(job, priority))
            if done is not None:
                seats, victims = done.seats, done.victims
        self.board.rollback(checkpoint)
        if seats is None:
            return None
        names, tasks = self.snapshot.nodes.names, self.snapshot.running.tasks
        evicted = {tasks[task].job.id for unit in victims for task in unit.tasks}
        return Trial(tuple(names[seat.position] for seat in seats), tuple(sorted(evicted)))

    def empty_board(self) -> None:
        """Takes everything away, as if nothing ran: for asking whether a job could ever start."""
        self.board.rollback(0)
        self.victims.alive[:] = True
        self.victims.lift(range(len(self.snapshot.running)))
        self.victims.alive[:] = False

    # -- compiling

    def _work(self, lane: Lane, job: Job) -> Work:
        """What to place of a job of this lane; kept, since all jobs of a lane are alike."""
        work = self._works.get(lane.number)
        if work is not None:
            return work
        work = self._compile(lane.key, job)
        if not work.placed_at and len(self._works) < _SIGNATURES_KEPT:
            self._works[lane.number] = work
        return work

    def _compile(self, key: LaneKey, job: Job) -> Work:
        template = key.template
        signatures = tuple(self.signature(template, group.spec) for group in template.groups)
        counts = key.waiting_by_group
        placed_at: tuple[int, ...] = ()
        if key.ranks is not None and template.topology:
            placements = self.snapshot.jobs[job.id].placements
            position = self.snapshot.nodes.position
            placed_at = tuple(position[p.node] for p in placements if p.node in position)
        return Work(signatures, counts, key.needed, template.topology, placed_at)

    def signature(self, template: JobTemplate, spec: TaskSpec) -> Signature:
        spec = self._effective(template, spec)
        shared_with = template if self._active else template.namespace
        key = (spec, shared_with)
        signature = self._signatures.get(key)
        if signature is None:
            if len(self._signatures) >= _SIGNATURES_KEPT:
                self._signatures.clear()
                self._works.clear()
            task = TaskView(template, spec, self.snapshot.demand(spec))
            signature = self._signatures[key] = Signature(
                task, self.board, self._topology, self._scheduler, self.plugins, self._active, self._ask
            )
        return signature

    def _effective(self, template: JobTemplate, spec: TaskSpec) -> TaskSpec:
        """The spec with the pools of its queue and tenant, and its share of the job's budget."""
        limits = [
            self._queue.pools,
            self._tenant_pools.get(template.project, ()),
            self._tenant_pools.get(f"{template.project}/{template.user}", ()),
        ]
        pools = spec.pools
        for limit in limits:
            if limit:
                pools = tuple(pool for pool in pools if pool in limit) or (_NO_POOL,) if pools else limit
        price = spec.max_price_micro_per_hour
        if template.max_cost_micro is not None and template.time_limit_ms:
            hourly = template.max_cost_micro * 3_600_000 // (template.time_limit_ms * template.task_count)
            price = hourly if price is None else min(price, hourly)
        if pools == spec.pools and price == spec.max_price_micro_per_hour:
            return spec
        return replace(spec, pools=pools, max_price_micro_per_hour=price)

    # -- refusing

    def _refuse(self, run: Run, work: Work) -> int:
        verdict, nodes = self._verdict(run.head.template, work)
        self._note_refusal(run.cursor, verdict, nodes)
        return 0

    def refusal_of(self, job_id: JobId) -> Refused | None:
        """Why a job waits that wasn't evicted in this cycle."""
        for refused in self._refused.values():
            if any(job.id == job_id for job in refused.cursor.jobs[refused.cursor.at :]):
                return refused
        return None

    def _verdict(self, template: JobTemplate, work: Work) -> tuple[Verdict, list[NodeRefusal]]:
        if self.quotas.any and self._within_quota(template, work) is None:
            single = len(work.counts) == 1
            amounts = work.signatures[0].demand.take * work.needed if single else self._amounts(work)
            reason = self.quotas.ask(template, amounts, 1).reason
            if reason is not None:
                return Verdict(reason.kind, (Refusal(reason, 0),)), []
        return verdict_of(work, self.board, self.plugins.filters)

    def _note_refusal(self, cursor: Cursor, verdict: Verdict, nodes: list[NodeRefusal]) -> None:
        self._refused[cursor.lane.number] = Refused(
            cursor, verdict, nodes, len(self._bindings), len(self._evictions)
        )

    def _refuse_outright(self, lane: Lane) -> None:
        template = lane.key.template
        reason = Reason(Code.NO_SCHEDULER, template.scheduler, detail=template.namespace)
        self._note_refusal(self._cursor(lane), Verdict(reason.kind, (Refusal(reason, 0),)), [])

    # -- preemption

    @property
    def victims(self) -> Victims:
        if self._victims is None:
            self._victims = Victims(self.snapshot, self.board, self._running_priorities(), self._footprint)
        return self._victims

    def _footprint(self, kind: int) -> Footprint:
        footprint = self._footprints.get(kind)
        if footprint is None:
            template, group = self.snapshot.running.kinds[kind]
            footprint = self._footprints[kind] = self._topology.footprint(
                template.namespace, template.groups[group].spec
            )
        return footprint

    def _running_priorities(self) -> Int64s:
        """Of each running task the priority it had when it started: what it rose to, it keeps."""
        running = self.snapshot.running
        by_kind = np.fromiter(
            (template.priority for template, _ in running.kinds), np.int64, len(running.kinds)
        )
        own: Int64s = by_kind[running.spec] if len(running) else np.empty(0, dtype=np.int64)
        promotion = self._scheduler.promotion
        if promotion.every_ms is None and promotion.retry_budget is None:
            return own
        risen = (
            effective_priority(
                task.job.template,
                task.job.retries,
                task.placement.started_ms - task.job.submitted_ms,
                promotion,
            )
            for task in running.tasks
        )
        return np.fromiter(risen, np.int64, len(running))

    def _eligible(self, job: Job, priority: int) -> Bools:
        """Running tasks that this job may evict for room: lower in class, preemptible, run long
        enough, and not of a job that had evicted it before."""
        victims = self.victims
        running = victims.running
        kept = {*job.preempted_by, *self._grown, job.id}
        if self._job_number is None:
            self._job_number = {other.id: number for number, other in enumerate(running.jobs)}
        kept_jobs = [self._job_number[other] for other in kept if other in self._job_number]
        preemptible = np.array([template.preemptible for template, _ in running.kinds], dtype=np.bool_)
        spared = ~preemptible[running.spec]
        if kept_jobs:
            spared |= np.isin(running.job, kept_jobs)
        ran = self.now_ms - running.started_ms >= self._scheduler.preemption.min_run_ms
        return victims.alive & (victims.priorities < priority) & ran & ~spared

    def _preempt_for(self, run: Run, work: Work) -> bool:
        if not self._scheduler.preemption.enabled or not len(self.snapshot.running):
            return False
        job, priority = run.head, run.priority
        allowed = self._within_quota(job.template, work)
        if allowed is None:
            return self._reclaim(run, work)
        if not may_preempt(job.template, priority):
            return False
        done = preempt(allowed, self.board, self.victims, self._eligible(job, priority))
        if done is None:
            return False
        self._finish_preemption(run, allowed, done, EvictionCause.PREEMPTED)
        return True

    def _finish_preemption(self, run: Run, work: Work, done: Preempted, cause: EvictionCause) -> None:
        for unit in done.victims:
            self._evict(unit.tasks, cause, run.head.id)
        self._bind(run, work, done.seats)

    def _reclaim(self, run: Run, work: Work) -> bool:
        """Takes back quota that others have borrowed: evicts as many of them as it takes."""
        job = run.head
        reclaim = self.policy.fair_share.reclaim
        if reclaim is Reclaim.NEVER:
            return False
        ceiling = run.priority if reclaim is Reclaim.LOWER_PRIORITY else Priority.CRITICAL + 1
        eligible = self._eligible(job, ceiling)
        checkpoint = self.board.checkpoint()
        victims = self.victims
        taken: list[Unit] = []
        candidates, together = victims.candidates(eligible)
        units = victims.units(candidates.tolist(), together.tolist())
        queue = sorted(units, key=Unit.value, reverse=True)
        for unit in queue:
            if self._within_quota(job.template, work) is not None:
                break
            if not any(self._borrows(task) for task in unit.tasks):
                continue
            self._credit(unit.tasks, -1)
            victims.lift(unit.tasks)
            victims.alive[list(unit.tasks)] = False
            taken.append(unit)
        done = self._place_reclaimed(run, work, taken)
        if done is None:
            self.board.rollback(checkpoint)
            for unit in taken:
                victims.alive[list(unit.tasks)] = True
                self._credit(unit.tasks, 1)
            return False
        for unit in taken:
            # Handed over to `_evict`, which takes the same credit again.
            self._credit(unit.tasks, 1)
        allowed, placed = done
        self._finish_preemption(run, allowed, placed, EvictionCause.RECLAIMED)
        return True

    def _place_reclaimed(self, run: Run, work: Work, taken: list[Unit]) -> tuple[Work, Preempted] | None:
        allowed = self._within_quota(run.head.template, work)
        if allowed is None or not taken:
            return None
        seats = place(allowed, self.board)
        if seats is not None:
            return allowed, Preempted(seats, taken)
        if not may_preempt(run.head.template, run.priority):
            return None
        more = preempt(allowed, self.board, self.victims, self._eligible(run.head, run.priority))
        return None if more is None else (allowed, Preempted(more.seats, taken + more.victims))

    def _borrows(self, task: int) -> bool:
        running = self.victims.running
        kind = int(running.spec[task])
        return self.quotas.borrows(running.kinds[kind][0], self.victims.demands[kind].take)

    def _credit(self, tasks: Iterable[int], sign: int) -> None:
        running = self.victims.running
        for task in tasks:
            kind = int(running.spec[task])
            self._charge(running.kinds[kind][0], self.victims.demands[kind].take, sign)

    def _evict(self, tasks: Iterable[int], cause: EvictionCause, preemptor: JobId) -> None:
        """Puts evictions on record; the board has been told already."""
        tasks = list(tasks)
        self.victims.alive[tasks] = False
        self._credit(tasks, -1)
        code = Code.EVICTED_BY_TAINT if cause is EvictionCause.TAINT else Code.PREEMPTED
        for task in tasks:
            entry = self.snapshot.running.tasks[task]
            self._evictions.append(
                Eviction(entry.job.id, entry.placement.rank, entry.placement.node, cause, preemptor)
            )
            reason = Reason(code, preemptor)
            self._lost.setdefault(entry.job.id, Verdict(Kind.NOT_NOW, (Refusal(reason, 0),)))

    def _evict_by_taints(self) -> None:
        """NoExecute: what runs there without the toleration goes, once its time is over."""
        nodes, running = self.snapshot.nodes, self.snapshot.running
        driving = [
            (number, taints)
            for number, taint_set in enumerate(nodes.taint_sets)
            if (taints := [taint for taint in taint_set if taint.effect is Effect.NO_EXECUTE])
        ]
        if not driving or not len(running):
            return
        gone = np.zeros(len(running), dtype=np.bool_)
        for number, taints in driving:
            for task in np.flatnonzero(nodes.taint_set[running.node] == number).tolist():
                template, group = running.kinds[int(running.spec[task])]
                tolerations = template.groups[group].spec.tolerations
                until = [bears_until_ms(taint, tolerations) for taint in taints]
                gone[task] = any(end is not None and end <= self.now_ms for end in until)
        self._evict_gone(gone)

    def _evict_gone(self, gone: Bools) -> None:
        victims = self.victims
        for job in sorted({int(victims.running.job[task]) for task in np.flatnonzero(gone).tolist()}):
            members = victims.tasks_of(job)
            leaving = [task for task in members if gone[task]]
            if len(members) - len(leaving) < victims.running.min_running[job]:
                leaving = members
            victims.lift(leaving)
            self._evict(leaving, EvictionCause.TAINT, JobId(""))

    # -- plugins

    def _activate(self, scheduler: SchedulerPolicy) -> tuple[ActivePlugin, ...]:
        known = self.plugins.by_name
        active = []
        for config in scheduler.plugins:
            plugin = self._ask(config.name, "load", partial(_load, known, config))
            if isinstance(plugin, Plugin):
                chosen = scheduler.selection
                selects = chosen.strategy is Strategy.CUSTOM and chosen.plugin == config.name
                active.append(ActivePlugin(plugin, config, selects))
        return tuple(active)

    def _ask(self, name: str, call: str, function: Callable[[], object]) -> object | None:
        """A plugin's answer; None, and a fault on record, if it raises or takes too long."""
        if name in self._silenced:
            return None
        try:
            return self.plugins.guard(function)
        except Exception as error:
            if isinstance(error, TimeoutError):
                # Each further question would cost as much time again.
                self._silenced.add(name)
            text = f"{type(error).__name__}: {error}"
            self._faults.append(PluginFault(name, call, text, self._current))
            return None

    def _tell_plugins(self) -> None:
        if not self._active:
            return
        by_job: dict[JobId, list[Binding]] = {}
        for binding in self._bindings:
            by_job.setdefault(binding.job, []).append(binding)
        for one in self._active:
            for job_id, bindings in by_job.items():
                self._current = job_id
                job = self.snapshot.jobs[job_id].job
                self._ask(
                    one.config.name,
                    "on_job_scheduled",
                    partial(one.plugin.on_job_scheduled, job, bindings),
                )


def queue_named(name: str, scheduler: SchedulerPolicy) -> QueuePolicy:
    """A queue that the policy doesn't name works like the default one."""
    known = {queue.name: queue for queue in scheduler.queues}
    return known.get(name) or replace(known.get("default", QueuePolicy()), name=name, pools=())


def may_preempt(template: JobTemplate, priority: int) -> bool:
    """Medium and above preempt what is lower; Low and Batch preempt nobody."""
    return template.may_preempt if template.may_preempt is not None else priority >= Priority.MEDIUM


def scheduler_for(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> SchedulerPolicy | None:
    """The one that the job names, or the first whose scope it is in. Where there is only one,
    names don't matter."""
    for scheduler in schedulers:
        in_scope = not scheduler.namespaces or template.namespace in scheduler.namespaces
        named = len(schedulers) == 1 or template.scheduler in ("", scheduler.name)
        if in_scope and named:
            return scheduler
    return None


def _load(known: Mapping[str, PluginMaker], config: PluginConfig) -> Plugin:
    return known[config.name](dict(config.settings))
