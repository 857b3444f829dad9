"""Whether those who wait have to: complaints about a plan, none if it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from rota.model.plan import EvictionCause
from rota.model.verdict import Code, Kind, Reason, Refusal, Verdict
from tests.reference import quotas
from tests.reference.case import Case
from tests.reference.gangs import GangAsk, can_start, hopeful, queue_of
from tests.reference.rules import Ask, refusals
from tests.reference.world import World, amounts, capacity

Complaints = Iterator[str]


def check_reasons(case: Case) -> Complaints:
    """Every job that isn't started is in the plan once, with reasons that are true."""
    count = Counter(job for entry in case.plan.waiting for job in entry.jobs)
    yield from (f"{job} waits {times} times" for job, times in count.items() if times > 1)
    due = {name for name in case.jobs if name in case.evictions or any(case.rest(name).ranks)}
    if due != set(count):
        yield f"waiting are {sorted(count)}, should be {sorted(due)}"
    for job, verdict in _verdicts(case):
        for complaint in _reason_faults(case, case.world_of(job), job, verdict):
            yield f"{job}: {complaint}"


def check_never(case: Case) -> Complaints:
    """Those, and only those, that wouldn't start even if nothing else ran are told "never"."""
    idle = case.after.idle()
    for job, verdict in _verdicts_about_nodes(case):
        if case.is_in_part(job):
            continue
        codes = ", ".join(sorted(refusal.reason.code.value for refusal in verdict.refusals))
        # Between the two lies what depends on whether other jobs of its kind may ever come.
        if verdict.kind is Kind.NEVER and can_start(idle, hopeful(case.gangs[job], of_its_own=False)):
            yield f"{job}: never ({codes}), but idle it could"
        if verdict.kind is Kind.NOT_NOW and not can_start(idle, hopeful(case.gangs[job], of_its_own=True)):
            yield f"{job}: not now ({codes}), but idle it could not either"


def check_left_out(case: Case) -> Complaints:
    """Nobody waits who could start beside what the plan leaves, or by evicting whom it may."""
    for job, _ in _verdicts_about_nodes(case):
        gang, world = case.rest(job), case.world_of(job)
        if can_start(world, gang, quotas=case.policy):
            yield f"{job} could start"
        elif job not in case.bindings and _could_preempt(case, world, gang):
            yield f"{job} could start by preemption"


def _verdicts(case: Case) -> Iterator[tuple[str, Verdict]]:
    return ((job, entry.verdict) for entry in case.plan.waiting for job in entry.jobs)


def _verdicts_about_nodes(case: Case) -> Iterator[tuple[str, Verdict]]:
    return (
        (job, verdict)
        for job, verdict in _verdicts(case)
        if job not in case.evictions
        and not any(refusal.reason.code in NOT_ABOUT_NODES for refusal in verdict.refusals)
    )


NOT_ABOUT_NODES = {
    Code.QUOTA,
    Code.QUOTA_BEYOND,
    Code.LIMIT,
    Code.LIMIT_BEYOND,
    Code.PARTNER,
    Code.STRICT_QUEUE,
    Code.QUEUE_PAUSED,
    Code.QUEUE_CLOSED,
    Code.CALENDAR,
    Code.TOO_EARLY,
    Code.PROMISED,
    Code.PERIOD_MISSED,
    Code.SLA_MISSED,
    Code.RESERVATION,
    Code.NOT_RESERVED_FOR,
    Code.MAINTENANCE,
    Code.EVICTED_FOR_MAINTENANCE,
    Code.PREEMPTED,
    Code.EVICTED_BY_TAINT,
    Code.NO_SCHEDULER,
    Code.NO_NODES,
}
_WHOLE_GANG = {Code.GANG, Code.GANG_BEYOND_CAPACITY, Code.TOPOLOGY, Code.TOPOLOGY_BEYOND_CAPACITY}


def _reason_faults(case: Case, world: World, job: str, verdict: Verdict) -> Complaints:
    alone = [refusal for refusal in verdict.refusals if refusal.reason.code in NOT_ABOUT_NODES]
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
        yield from _node_faults(world, case.rest(job), verdict)


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
            gang = case.rest(job)
            if reason.code is Code.QUOTA_BEYOND:
                return not _quota_allows(case, world.idle(), hopeful(gang, of_its_own=True))
            return not _quota_allows(case, world, gang)
        case Code.STRICT_QUEUE:
            waits = any(reason.subject in entry.jobs for entry in case.plan.waiting)
            return waits and share_queue(case, job, reason.subject) and _is_strict(case, job)
    return False


def _is_strict(case: Case, job: str) -> bool:
    scheduler = case.scheduler(job)
    return scheduler is not None and queue_of(case.jobs[job], scheduler).strict


def _quota_allows(case: Case, world: World, gang: GangAsk) -> bool:
    """Whether some `needed` of its tasks may be had, of those that some node takes if these are
    enough."""
    before = quotas.usage(world)
    ranks = [(group, rank) for group, some in enumerate(gang.ranks) for rank in some]
    taken = [(group, rank) for group, rank in ranks if _is_taken(world, gang.asks[group])]
    for chosen in combinations(taken if len(taken) >= gang.needed else ranks, gang.needed):
        after = dict(before)
        for group, _ in chosen:
            for path in quotas.tenants(gang.record.job.template):
                for resource, amount in amounts(gang.asks[group].spec).items():
                    after[path, resource] = after.get((path, resource), 0) + amount
        if not quotas.broken(case.policy, before, after):
            return True
    return False


def _is_taken(world: World, ask: Ask) -> bool:
    return any(not refusals(world, ask, node) for node in world.nodes.values())


def _node_faults(world: World, gang: GangAsk, verdict: Verdict) -> Complaints:
    counted = sum(refusal.nodes for refusal in verdict.refusals)
    if counted != len(world.nodes):
        yield f"{counted} of {len(world.nodes)} nodes are counted"
    found = [
        list(_group_faults(world, gang, group, verdict)) for group, left in enumerate(gang.ranks) if left
    ]
    # The verdict is about one of the groups; nobody says which.
    yield from min(found, key=len)


def _group_faults(world: World, gang: GangAsk, group: int, verdict: Verdict) -> Complaints:
    """Each reason holds for as many nodes as it counts, and each node has one of the reasons."""
    truth = {name: refusals(world, gang.asks[group], node) for name, node in world.nodes.items()}
    holds: set[str] = set()
    for refusal in verdict.refusals:
        reason = refusal.reason
        if reason.code in _WHOLE_GANG:
            holds.update(world.nodes)
            if reason.code in (Code.GANG, Code.GANG_BEYOND_CAPACITY) and reason.available >= reason.asked:
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
        keep = case.least(victim)
        if len(may_go) < len(members):
            # The gang can't go as a whole; at least its last ranks can, if it has more than it needs.
            spare = sorted(members, key=lambda task: task.rank)[keep:]
            may_go = [task for task in spare if task in may_go]
        for task in may_go:
            cleared.lift(task)
    return can_start(cleared, gang)


def share_queue(case: Case, one: str, other: str) -> bool:
    first, second = case.jobs.get(one), case.jobs.get(other)
    return (
        first is not None
        and second is not None
        and first.job.template.queue == second.job.template.queue
        and case.scheduler(one) == case.scheduler(other)
    )
