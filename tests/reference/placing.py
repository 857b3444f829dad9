"""Whether what a plan starts may start there: complaints about a plan, none if it is right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from rota.model.policy import QueueStrategy
from rota.model.verdict import Kind
from rota.model.vocabulary import code_of
from tests.reference import quotas
from tests.reference.case import Case, Step
from tests.reference.gangs import can_start, lies_right, queue_of
from tests.reference.rules import clash, price, refusals
from tests.reference.waiting import NOT_ABOUT_NODES, share_queue
from tests.reference.world import Task, amounts, free, free_devices

Complaints = Iterator[str]


def check_room(case: Case) -> Complaints:
    """Running − evicted + bound fit, in every dimension that a bound task asks for."""
    world = case.after
    for name, node in world.nodes.items():
        new = [task for task in world.on(node) if task.job.id in case.bindings and _is_new(case, task)]
        left, devices = free(world, node), free_devices(world, node)
        for task in new:
            for resource in amounts(task.spec):
                if left.get(resource, 0) < 0:
                    yield f"{name} lacks {-left.get(resource, 0)} {resource}"
            if len(set(task.devices)) != task.spec.gpu.count:
                yield f"{task.job.id}/{task.rank} got devices {task.devices}"
            if any(devices[device] < 0 for device in task.devices):
                yield f"{name} has devices {devices}"
        for one, other in combinations(world.on(node), 2):
            if one in new or other in new:
                yield from _clashes(one, other, name)


def _is_new(case: Case, task: Task) -> bool:
    return any(binding.rank == task.rank for binding in case.bindings[task.job.id])


def _clashes(one: Task, other: Task, node: str) -> Complaints:
    if one.spec.exclusive or other.spec.exclusive:
        yield f"{one.job.id} and {other.job.id} share {node}, one of them exclusively"
    if any(clash(mine, theirs) for mine in one.spec.ports for theirs in other.spec.ports):
        yield f"{one.job.id} and {other.job.id} use the same port of {node}"


# -- every binding keeps every hard constraint


def check_constraints(case: Case) -> Complaints:
    for step in case.steps():
        yield from _budget(step)
        world = step.world
        for victim in step.victims:
            world.lift(victim)
        for task in step.placed:
            ask = step.gang.asks[task.job.group_of(task.rank)]
            for kind, subject in sorted(refusals(world, ask, world.nodes[task.node]), key=str):
                yield f"{task.job.id}/{task.rank} on {task.node}: {code_of(kind)} {subject}"
            world.put(task)
        job = step.gang.record.job
        if not lies_right(job.template.topology, [world.nodes[task.node] for task in world.of(job.id)]):
            yield f"{job.id} lies on {[task.node for task in world.of(job.id)]}"
        partner = job.template.connect_to
        if partner and not case.after.of(partner):
            yield f"{job.id} started without its partner {partner}"


def _budget(step: Step) -> Complaints:
    template = step.gang.record.job.template
    if template.max_cost_micro is None or not template.time_limit_ms:
        return
    nodes, offered = step.world.nodes, step.world.offered
    hourly = sum(price(task.spec, nodes[task.node], task.node in offered) for task in step.placed)
    if hourly * template.time_limit_ms > template.max_cost_micro * 3_600_000:
        yield f"{step.gang.record.job.id} costs more than it may"


# -- gangs start as a whole or not at all


def check_gangs(case: Case) -> Complaints:
    world = case.after
    for job, bindings in case.bindings.items():
        record = case.jobs[job]
        ranks = [binding.rank for binding in bindings]
        if len(set(ranks)) < len(ranks) or not set(ranks) <= set(record.waiting_ranks()):
            yield f"{job}: ranks {ranks} don't wait"
        if job in case.evictions:
            yield f"{job} is both evicted and started"
        if len(world.of(job)) + len(record.done) < record.job.template.min_count:
            yield f"{job}: {len(world.of(job))} tasks run, it needs {record.job.template.min_count}"


def check_quotas(case: Case) -> Complaints:
    before, after = quotas.usage(case.before), quotas.usage(case.after)
    yield from quotas.broken(case.policy, before, after)


def check_order(case: Case) -> Complaints:
    """Nobody waits for room that somebody behind it was given (first come first, and by priority)."""
    if case.plan.evictions:
        return
    for entry in case.plan.waiting:
        for job in entry.jobs:
            key = _order_key(case, job)
            is_tied = job in case.bindings or _depends_on_others(case, job)
            if key is None or is_tied or type(entry.verdict.refusals[0].reason) in NOT_ABOUT_NODES:
                continue
            behind = [
                other
                for other in case.bindings
                if share_queue(case, job, other) and (_order_key(case, other) or key) > key
            ]
            world = case.after
            for other in behind:
                for task in case.placed(other):
                    world.lift(task)
            if behind and can_start(world, case.gangs[job], quotas=case.policy):
                yield f"{job} waits for room that was given to {behind}"


def check_strict(case: Case) -> Complaints:
    """In a strict queue nobody starts behind somebody who can't now, but yet may."""
    for entry in case.plan.waiting:
        for job in entry.jobs if entry.verdict.kind is Kind.NOT_NOW else ():
            key, scheduler = _order_key(case, job), case.scheduler(job)
            is_strict = scheduler is not None and queue_of(case.jobs[job], scheduler).strict
            if key is None or not is_strict or job in case.evictions or job in case.bindings:
                continue
            for other in case.bindings:
                if share_queue(case, job, other) and (_order_key(case, other) or key) > key:
                    yield f"{other} starts, though {job} is before it and can't"


def _depends_on_others(case: Case, job: str) -> bool:
    """Whether others that start could let it start, too: then its turn isn't over at once."""
    template = case.jobs[job].job.template
    near = (not term.anti for group in template.groups for term in group.spec.job_affinity)
    return (
        bool(template.connect_to)
        or any(near)
        or any(group.spec.spread or group.spec.in_domains for group in template.groups)
    )


def _order_key(case: Case, job: str) -> tuple[int, int, str] | None:
    record, scheduler = case.jobs[job], case.scheduler(job)
    if scheduler is None:
        return None
    submitted = record.job.submitted_ms
    match queue_of(record, scheduler).strategy:
        case QueueStrategy.FIFO:
            return 0, submitted, job
        case QueueStrategy.PRIORITY:
            return -case.waiting_priority(job), submitted, job
    return None
