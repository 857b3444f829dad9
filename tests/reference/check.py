"""What is wrong with a plan: each check gives its complaints, and none for a plan that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from rota.model.job import JobRecord
from rota.model.plan import EvictionCause
from rota.model.policy import QueueStrategy, Reclaim
from rota.model.taints import Effect, bears_until_ms
from rota.model.verdict import Code, Kind, Reason, Refusal, Verdict
from tests.reference import quotas
from tests.reference.case import Case, Step
from tests.reference.gangs import GangAsk, can_start, lies_right, queue_of
from tests.reference.rules import clash, price, refusals
from tests.reference.world import Task, World, amounts, capacity, free, free_devices

Complaints = Iterator[str]


# -- no node is oversubscribed


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
            for code, subject in sorted(refusals(world, ask, world.nodes[task.node]), key=str):
                yield f"{task.job.id}/{task.rank} on {task.node}: {code.value} {subject}"
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


# -- who waits, waits for a true reason


def check_waiting(case: Case) -> Complaints:
    """Every job that isn't started is in the plan once, with a verdict that is true."""
    verdicts: dict[str, Verdict] = {job: entry.verdict for entry in case.plan.waiting for job in entry.jobs}
    count = Counter(job for entry in case.plan.waiting for job in entry.jobs)
    yield from (f"{job} waits {times} times" for job, times in count.items() if times > 1)
    due = {
        name
        for name, record in case.jobs.items()
        if name in case.evictions or (name not in case.bindings and list(record.waiting_ranks()))
    }
    if due != set(verdicts):
        yield f"waiting are {sorted(verdicts)}, should be {sorted(due)}"
    world = case.after
    for job in sorted(due & set(verdicts)):
        for complaint in _verdict_faults(case, world, job, verdicts[job]):
            yield f"{job}: {complaint}"


_ALONE = {
    Code.QUOTA,
    Code.QUOTA_BEYOND,
    Code.PARTNER,
    Code.STRICT_QUEUE,
    Code.PREEMPTED,
    Code.EVICTED_BY_TAINT,
    Code.NO_SCHEDULER,
    Code.NO_NODES,
}
_WHOLE_GANG = {Code.GANG, Code.TOPOLOGY, Code.GANG_BEYOND_CAPACITY}


def _verdict_faults(case: Case, world: World, job: str, verdict: Verdict) -> Complaints:
    alone = [refusal for refusal in verdict.refusals if refusal.reason.code in _ALONE]
    if job in case.evictions:
        causes = {one.cause for one in case.evictions[job]}
        by_taint = Code.EVICTED_BY_TAINT if EvictionCause.TAINT in causes else Code.PREEMPTED
        if [refusal.reason.code for refusal in verdict.refusals] not in ([by_taint], [Code.PREEMPTED]):
            yield f"was evicted, but waits for {verdict.refusals}"
    elif alone:
        if len(verdict.refusals) > 1 or alone[0].nodes:
            yield f"{alone[0].reason.code.value} is not about nodes"
        if verdict.kind is not alone[0].reason.kind:
            yield f"{alone[0].reason.code.value} is not {verdict.kind.value}"
        if not _is_true(case, world, job, alone[0].reason):
            yield f"not true: {alone[0].reason}"
    else:
        yield from _node_faults(case, world, job, verdict)


def _is_true(case: Case, world: World, job: str, reason: Reason) -> bool:
    """Reasons that are about something else than nodes."""
    match reason.code:
        case Code.NO_NODES:
            return not world.nodes
        case Code.NO_SCHEDULER:
            return case.scheduler(job) is None
        case Code.PARTNER:
            partner = case.jobs[job].job.template.connect_to
            return reason.subject == partner and not world.of(partner)
        case Code.QUOTA | Code.QUOTA_BEYOND:
            base = world.idle() if reason.code is Code.QUOTA_BEYOND else world
            return not _quota_allows(case, base, case.gangs[job])
        case Code.STRICT_QUEUE:
            waits = any(reason.subject in entry.jobs for entry in case.plan.waiting)
            return waits and _shares_queue(case, job, reason.subject) and _is_strict(case, job)
    return False


def _is_strict(case: Case, job: str) -> bool:
    scheduler = case.scheduler(job)
    return scheduler is not None and queue_of(case.jobs[job], scheduler).strict


def _quota_allows(case: Case, world: World, gang: GangAsk) -> bool:
    """Whether some `needed` of its tasks may be had: those that ask for least, if they differ."""
    before = quotas.usage(world)
    ranks = [(group, rank) for group, some in enumerate(gang.ranks) for rank in some]
    for chosen in combinations(ranks, gang.needed):
        after = dict(before)
        for group, _ in chosen:
            for path in quotas.tenants(gang.record.job.template):
                for resource, amount in amounts(gang.asks[group].spec).items():
                    after[path, resource] = after.get((path, resource), 0) + amount
        if not quotas.broken(case.policy, before, after):
            return True
    return False


def _node_faults(case: Case, world: World, job: str, verdict: Verdict) -> Complaints:
    gang = case.gangs[job]
    counted = sum(refusal.nodes for refusal in verdict.refusals)
    if counted != len(world.nodes):
        yield f"{counted} of {len(world.nodes)} nodes are counted"
    found = [list(_group_faults(world, gang, group, verdict)) for group in range(len(gang.asks))]
    # The verdict is about one of the groups; nobody says which.
    yield from min(found, key=len)
    possible = can_start(world.idle(), gang, hopeful=True)
    if possible is (verdict.kind is Kind.NEVER):
        codes = sorted(refusal.reason.code.value for refusal in verdict.refusals)
        yield f"{verdict.kind.value} ({', '.join(codes)}), but idle it would{'' if possible else ' not'} start"
    if can_start(world, gang) and _quota_allows(case, world, gang):
        yield "could start"
    elif _could_preempt(case, world, gang):
        yield "could start by preemption"


def _group_faults(world: World, gang: GangAsk, group: int, verdict: Verdict) -> Complaints:
    """Each reason holds for as many nodes as it counts, and each node has one of the reasons."""
    truth = {name: refusals(world, gang.asks[group], node) for name, node in world.nodes.items()}
    holds: set[str] = set()
    for refusal in verdict.refusals:
        reason = refusal.reason
        if reason.code in _WHOLE_GANG:
            holds.update(world.nodes)
            if reason.code is not Code.TOPOLOGY and reason.available >= reason.asked:
                yield f"a gang of {reason.asked} is said not to fit where {reason.available} do"
            continue
        nodes = {name for name, reasons in truth.items() if _matches(reason, reasons)}
        holds |= nodes
        if len(nodes) < refusal.nodes:
            yield f"{reason.code.value} {reason.subject} of {refusal.nodes} nodes, is true of {sorted(nodes)}"
        yield from _amount_faults(world, gang, group, refusal, nodes)
    if holds != set(world.nodes):
        yield f"nothing keeps it from {sorted(set(world.nodes) - holds)}"


_WITH_SUBJECT = {
    Code.OTHER_NODE_NAMED,
    Code.NODE_SELECTOR,
    Code.TAINT,
    Code.PASSING_TAINT,
    Code.BEYOND_CAPACITY,
    Code.INSUFFICIENT,
    Code.TOPOLOGY_LABEL_MISSING,
    Code.SPREAD,
}


def _matches(reason: Reason, reasons: Iterable[tuple[Code, str]]) -> bool:
    return (reason.code, reason.subject if reason.code in _WITH_SUBJECT else "") in reasons


def _amount_faults(world: World, gang: GangAsk, group: int, refusal: Refusal, nodes: set[str]) -> Complaints:
    reason = refusal.reason
    if reason.code not in (Code.BEYOND_CAPACITY, Code.INSUFFICIENT):
        return
    spec = gang.asks[group].spec
    asked = amounts(spec).get("gpu" if reason.subject.startswith("gpu") else reason.subject, 0)
    if reason.asked != asked:
        yield f"asks for {asked} {reason.subject}, not {reason.asked}"
    if not 0 <= reason.available < asked:
        yield f"{reason.available} {reason.subject} would be enough for {asked}"
    most = max((capacity(world.nodes[name]).get(reason.subject, 0) for name in nodes), default=0)
    if reason.code is Code.BEYOND_CAPACITY and reason.subject != "gpu share" and reason.available > most:
        yield f"no node has {reason.available} {reason.subject}"


def _could_preempt(case: Case, world: World, gang: GangAsk) -> bool:
    """Whether it would start if everyone went whom it may evict."""
    job = gang.record.job.id
    if not case.may_preempt(job) or quotas.accounts(case.policy):
        return False
    cleared = world.copy()
    for victim in sorted({task.job.id for task in world.tasks()}):
        members = world.of(victim)
        may_go = [task for task in members if case.may_evict(job, task)]
        keep = case.jobs[victim].job.template.min_count
        if len(may_go) < len(members):
            # The gang can't go as a whole; its last ranks can, if it has more than it needs.
            spare = sorted(members, key=lambda task: task.rank)[keep:]
            may_go = [task for task in spare if task in may_go]
        for task in may_go:
            cleared.lift(task)
    return can_start(cleared, gang)


# -- whom a plan evicts


def check_evictions(case: Case) -> Complaints:
    for eviction in case.plan.evictions:
        task = next(one for one in case.before.of(eviction.job) if one.rank == eviction.rank)
        if task.node != eviction.node:
            yield f"{eviction.job}/{eviction.rank} runs on {task.node}, not {eviction.node}"
        if eviction.cause is EvictionCause.TAINT:
            yield from _taint_faults(case, task)
        elif eviction.preemptor not in case.bindings:
            yield f"{eviction.job} is evicted for {eviction.preemptor}, which doesn't start"
    for job, evictions in case.evictions.items():
        ranks = [eviction.rank for eviction in evictions]
        if len(set(ranks)) < len(ranks):
            yield f"{job}: ranks {ranks} are evicted, some of them twice"
        kept = len(case.after.of(job))
        if 0 < kept < case.jobs[job].job.template.min_count:
            yield f"{job} keeps {kept} tasks, and needs {case.jobs[job].job.template.min_count}"
    for step in case.steps():
        if step.victims:
            yield from _victim_faults(case, step)
            yield from _spared_faults(case, step)


def _taint_faults(case: Case, task: Task) -> Complaints:
    """Somebody of its gang must have been driven out."""
    for member in case.before.of(task.job.id):
        for taint in case.before.nodes[member.node].spec.taints:
            until = bears_until_ms(taint, member.spec.tolerations)
            if taint.effect is Effect.NO_EXECUTE and until is not None and until <= case.now_ms:
                return
    yield f"no taint drives {task.job.id}/{task.rank} out"


def _victim_faults(case: Case, step: Step) -> Complaints:
    job = step.gang.record.job.id
    reclaims = step.cause is EvictionCause.RECLAIMED
    reclaim = case.policy.fair_share.reclaim
    scheduler = case.scheduler(job)
    if scheduler is None or not scheduler.preemption.enabled:
        yield f"{job} evicts, though preemption is off"
    if reclaims and reclaim is Reclaim.NEVER:
        yield f"{job} takes back, though nobody may"
    if not reclaims and not case.may_preempt(job):
        yield f"{job} has no right to evict"
    for task in step.victims:
        if not case.may_evict(job, task, whatever_priority=reclaims and reclaim is Reclaim.ANY):
            yield f"{job} has no right to evict {task.job.id}"


def _spared_faults(case: Case, step: Step) -> Complaints:
    """Nobody is evicted in vain: with any victim back, the job would not fit as it does."""
    world = step.world.copy()
    for task in step.victims:
        world.lift(task)
    for victim in sorted({task.job.id for task in step.victims}):
        gone = [task for task in step.victims if task.job.id == victim]
        for back in _returns(case.jobs[victim], gone, world.of(victim)):
            for task in back:
                world.put(task)
            if can_start(world, step.gang, len(step.placed)) and _within_quotas(case, world, step):
                yield f"{step.gang.record.job.id} evicts {victim}/{[task.rank for task in back]} in vain"
            for task in back:
                world.lift(task)


def _returns(record: JobRecord, gone: list[Task], kept: list[Task]) -> Iterator[tuple[Task, ...]]:
    """The parts of an evicted job that could have stayed: as a gang, or one more beside the rest."""
    least = 1 if kept else min(record.job.template.min_count, len(gone))
    yield from combinations(gone, least)


def _within_quotas(case: Case, world: World, step: Step) -> bool:
    before = quotas.usage(world)
    after = dict(before)
    for task in step.placed:
        for path in quotas.tenants(task.job.template):
            for resource, amount in amounts(task.spec).items():
                after[path, resource] = after.get((path, resource), 0) + amount
    return not quotas.broken(case.policy, before, after)


# -- quotas


def check_quotas(case: Case) -> Complaints:
    before, after = quotas.usage(case.before), quotas.usage(case.after)
    yield from quotas.broken(case.policy, before, after)


# -- the order of the queue


def check_order(case: Case) -> Complaints:
    """Nobody waits for room that somebody behind it was given (first come first, and by priority)."""
    if case.plan.evictions:
        return
    for entry in case.plan.waiting:
        for job in entry.jobs:
            key = _order_key(case, job)
            if key is None or entry.verdict.refusals[0].reason.code in _ALONE:
                continue
            behind = [
                other
                for other in case.bindings
                if _shares_queue(case, job, other) and (_order_key(case, other) or key) > key
            ]
            world = case.after
            for other in behind:
                for task in case.placed(other):
                    world.lift(task)
            if behind and can_start(world, case.gangs[job]) and _quota_allows(case, world, case.gangs[job]):
                yield f"{job} waits for room that was given to {behind}"


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


def _shares_queue(case: Case, one: str, other: str) -> bool:
    first, second = case.jobs.get(one), case.jobs.get(other)
    return (
        first is not None
        and second is not None
        and first.job.template.queue == second.job.template.queue
        and case.scheduler(one) == case.scheduler(other)
    )


CHECKS: tuple[Callable[[Case], Complaints], ...] = (
    check_room,
    check_constraints,
    check_gangs,
    check_waiting,
    check_evictions,
    check_quotas,
    check_order,
)
