"""Whether those whom a plan evicts have to go: complaints about a plan, none if it is right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from rota.model.plan import EvictionCause
from rota.model.policy import Reclaim
from rota.model.taints import Effect, bears_until_ms
from tests.reference import quotas
from tests.reference.case import Case, Step
from tests.reference.gangs import can_start
from tests.reference.world import Task

Complaints = Iterator[str]


def check_evictions(case: Case) -> Complaints:
    for eviction in case.plan.evictions:
        task = next(one for one in case.before.of(eviction.job) if one.rank == eviction.rank)
        if task.node != eviction.node:
            yield f"{eviction.job}/{eviction.rank} runs on {task.node}, not {eviction.node}"
        if eviction.cause is EvictionCause.TAINT:
            yield from _taint_faults(case, task)
        elif eviction.preemptor not in case.bindings:
            yield f"{eviction.job} is evicted for {eviction.preemptor}, which doesn't start"
    for task in case.before.tasks():
        gone = {eviction.rank for eviction in case.evictions.get(task.job.id, ())}
        if _is_driven_out(case, task) and task.rank not in gone:
            yield f"{task.job.id}/{task.rank} stays on {task.node}, though a taint drives it out"
    for job, evictions in case.evictions.items():
        ranks = [eviction.rank for eviction in evictions]
        if len(set(ranks)) < len(ranks):
            yield f"{job}: ranks {ranks} are evicted, some of them twice"
        kept = len(case.after.of(job))
        if 0 < kept < case.least(job):
            yield f"{job} keeps {kept} tasks, and needs {case.least(job)}"
    for step in case.steps():
        if step.victims:
            yield from _victim_faults(case, step)
            yield from _spared_faults(case, step)


def _taint_faults(case: Case, task: Task) -> Complaints:
    """Somebody of its gang must have been driven out."""
    if not any(_is_driven_out(case, member) for member in case.before.of(task.job.id)):
        yield f"no taint drives {task.job.id}/{task.rank} out"


def _is_driven_out(case: Case, task: Task) -> bool:
    return any(
        taint.effect is Effect.NO_EXECUTE and until is not None and until <= case.now_ms
        for taint in case.before.nodes[task.node].spec.taints
        for until in [bears_until_ms(taint, task.spec.tolerations)]
    )


def _victim_faults(case: Case, step: Step) -> Complaints:
    job = step.gang.record.job.id
    reclaim = case.policy.fair_share.reclaim
    scheduler = case.scheduler(job)
    if scheduler is None or not scheduler.preemption.enabled:
        yield f"{job} evicts, though preemption is off"
    for task, cause in zip(step.victims, step.causes, strict=True):
        takes_back = cause is EvictionCause.RECLAIMED
        if not case.may_evict(job, task, whatever_priority=takes_back and reclaim is Reclaim.ANY):
            yield f"{job} has no right to evict {task.job.id}"
        if not takes_back and not case.may_preempt(job):
            yield f"{job} has no right to evict anybody"
        if takes_back and reclaim is Reclaim.NEVER:
            yield f"{job} takes back from {task.job.id}, which nobody may"
        if takes_back and not quotas.borrows(case.policy, quotas.usage(step.world), task.job.template):
            yield f"{job} takes back from {task.job.id}, which has borrowed nothing"


def _spared_faults(case: Case, step: Step) -> Complaints:
    """Nobody is evicted in vain: with any victim back, the job would not fit as it does."""
    world = step.world.copy()
    for task in step.victims:
        world.lift(task)
    for victim in sorted({task.job.id for task in step.victims}):
        gone = [task for task in step.victims if task.job.id == victim]
        least = 1 if world.of(victim) else min(case.least(victim), len(gone))
        # What could have stayed: one more beside the rest, or as much as the gang needs.
        for back in combinations(gone, least):
            for task in back:
                world.put(task)
            if can_start(world, step.gang, len(step.placed), case.policy):
                yield f"{step.gang.record.job.id} evicts {victim}/{[task.rank for task in back]} in vain"
            for task in back:
                world.lift(task)
