"""Whether those who wait have to: complaints about a plan, none if it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from rota.model.plan import EvictionCause
from rota.model.reasons import (
    ArrayLimitReached,
    AwaitsPartner,
    BehindInStrictQueue,
    BeyondCapacity,
    BeyondLimit,
    BeyondQuota,
    EvictedByTaint,
    EvictedForMaintenance,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    LayoutBeyondCapacity,
    LayoutLacksRoom,
    LimitReached,
    MaintenanceAhead,
    NoNodes,
    NoScheduler,
    NotReservedFor,
    OtherDomains,
    OutsideReservation,
    PeriodMissed,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    RoomPlanned,
    RoomReserved,
    SlaMissed,
    SpreadUneven,
    TooEarly,
    TooFewDomains,
    TopologyLabelMissing,
    WasPreempted,
)
from rota.model.taints import Taint
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from tests.reference import quotas
from tests.reference.case import Case
from tests.reference.gangs import GangAsk, can_start, hopeful, queue_of
from tests.reference.rules import Ask, Because, refusals
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
        codes = ", ".join(sorted(refusal.reason.code for refusal in verdict.refusals))
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
        and not any(type(refusal.reason) in NOT_ABOUT_NODES for refusal in verdict.refusals)
    )


NOT_ABOUT_NODES: set[type[Reason]] = {
    QuotaReached,
    BeyondQuota,
    ArrayLimitReached,
    LimitReached,
    BeyondLimit,
    AwaitsPartner,
    BehindInStrictQueue,
    QueuePaused,
    QueueClosed,
    RoomPlanned,
    TooEarly,
    PromisedLater,
    PeriodMissed,
    SlaMissed,
    OutsideReservation,
    RoomReserved,
    NotReservedFor,
    MaintenanceAhead,
    EvictedForMaintenance,
    WasPreempted,
    EvictedByTaint,
    NoScheduler,
    NoNodes,
}
_WHOLE_GANG = (GangLacksRoom, GangBeyondCapacity, LayoutLacksRoom, LayoutBeyondCapacity)


def _reason_faults(case: Case, world: World, job: str, verdict: Verdict) -> Complaints:
    alone = [refusal for refusal in verdict.refusals if type(refusal.reason) in NOT_ABOUT_NODES]
    if job in case.evictions:
        causes = {one.cause for one in case.evictions[job]}
        by_taint = EvictedByTaint if EvictionCause.TAINT in causes else WasPreempted
        if [type(refusal.reason) for refusal in verdict.refusals] not in ([by_taint], [WasPreempted]):
            yield f"was evicted, but waits for {verdict.refusals}"
    elif alone:
        if len(verdict.refusals) > 1 or alone[0].nodes:
            yield f"{alone[0].reason.code} is not about nodes"
        if verdict.kind is not alone[0].reason.kind:
            yield f"{alone[0].reason.code} is not {verdict.kind.value}"
        if not _is_true(case, world, job, alone[0].reason):
            yield f"not true: {alone[0].reason}"
    else:
        yield from _node_faults(world, case.rest(job), verdict)


def _is_true(case: Case, world: World, job: str, reason: Reason) -> bool:
    """Reasons that are about something else than nodes."""
    match reason:
        case NoNodes():
            return not world.nodes
        case NoScheduler():
            return case.scheduler(job) is None
        case AwaitsPartner(awaited):
            partner = case.jobs[job].job.template.connect_to
            return awaited == partner and not world.of(partner)
        case QuotaReached() | BeyondQuota():
            gang = case.rest(job)
            if isinstance(reason, BeyondQuota):
                return not _quota_allows(case, world.idle(), hopeful(gang, of_its_own=True))
            return not _quota_allows(case, world, gang)
        case RoomPlanned(other, start_ms):
            # Whether it had to be planned there is for the tests of the calendar.
            return any((one.job, one.start_ms) == (other, start_ms) for one in case.plan.starts)
        case BehindInStrictQueue(first):
            waits = any(first in entry.jobs for entry in case.plan.waiting)
            return waits and share_queue(case, job, first) and _is_strict(case, job)
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
        if isinstance(reason, _WHOLE_GANG):
            holds.update(world.nodes)
            is_gang = isinstance(reason, GangLacksRoom | GangBeyondCapacity)
            if is_gang and reason.fitting >= reason.needed:
                yield f"a gang of {reason.needed} is said not to fit where {reason.fitting} do"
            continue
        nodes = {name for name, reasons in truth.items() if _matches(reason, reasons)}
        holds |= nodes
        if len(nodes) < refusal.nodes:
            yield f"{reason} of {refusal.nodes} nodes, is true of {sorted(nodes)}"
        yield from _amount_faults(world, gang, group, refusal, nodes)
    if holds != set(world.nodes):
        yield f"nothing keeps it from {sorted(set(world.nodes) - holds)}"


def _matches(reason: Reason, reasons: Iterable[Because]) -> bool:
    return (type(reason), _subject(reason)) in reasons


def _subject(reason: Reason) -> str:
    """What it is about, where the rules say so too."""
    match reason:
        case OtherNodeNamed(node):
            return node
        case NodeSelectorUnmet(key, value):
            return f"{key}={value}"
        case UntoleratedTaint() | UntoleratedPassingTaint():
            assert reason.effect is not None
            return Taint(reason.key, reason.effect, reason.value).notation
        case BeyondCapacity() | Insufficient():
            return reason.resource
        case TopologyLabelMissing(key) | SpreadUneven(key) | OtherDomains(key) | TooFewDomains(key):
            return key
        case _:
            return ""


def _amount_faults(world: World, gang: GangAsk, group: int, refusal: Refusal, nodes: set[str]) -> Complaints:
    reason = refusal.reason
    if not isinstance(reason, BeyondCapacity | Insufficient):
        return
    resource = reason.resource
    asked = amounts(gang.asks[group].spec).get(resource, 0)
    if reason.asked != asked:
        yield f"asks for {asked} {resource}, not {reason.asked}"
    if not 0 <= reason.available < asked:
        yield f"{reason.available} {resource} would be enough for {asked}"
    most = max((capacity(world.nodes[name]).get(resource, 0) for name in nodes), default=0)
    if isinstance(reason, BeyondCapacity) and not reason.of_one_device and reason.available > most:
        yield f"no node has {reason.available} {resource}"


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
