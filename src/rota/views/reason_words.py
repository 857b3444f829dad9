"""Words for the reasons of the engine itself, by their types; those that are a matter of time have theirs in
`calendar_words`, those of plugins in `plugin_words`."""

from __future__ import annotations

from rota.model.job import TopologyMode, TopologyRule
from rota.model.reasons import (
    ArrayLimitReached,
    AwaitsPartner,
    BehindInStrictQueue,
    BeyondCapacity,
    BeyondLimit,
    BeyondQuota,
    ClaimInUse,
    DiskTaken,
    EvictedByTaint,
    EvictedForMaintenance,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutBeyondCapacity,
    LayoutLacksRoom,
    LimitReached,
    MemoryInUse,
    NobodyToEvict,
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoScheduler,
    NoSpaceForVolume,
    NoVolumeToBind,
    OtherDomains,
    PortTaken,
    QuotaReached,
    RefusedByPlugin,
    RunningAntiAffinity,
    SpreadUneven,
    TooFewDomains,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
    WasPreempted,
)
from rota.model.resources import HostPort
from rota.views.amounts import amount_text, asked_amount_text, asked_text, count_text
from rota.views.conditions import requirements_text
from rota.views.quoting import one_line
from rota.views.saying import ReasonWords, always, said

# -- room


def _beyond_capacity(reason: BeyondCapacity) -> str:
    asks = asked_text(reason.resource, reason.asked, of_one_device=reason.of_one_device)
    if not reason.available:
        return f"asks {asks}, has none"
    most = amount_text(reason.resource, reason.available)
    return f"beyond every such node: asks {asks}, largest has {most}"


def _insufficient(reason: Insufficient) -> str:
    asks = asked_amount_text(reason.resource, reason.asked)
    device = " of a device" if reason.of_one_device else ""
    free = amount_text(reason.resource, reason.available)
    return f"insufficient {reason.resource}: asks {asks}{device}, most free {free}"


def _memory_in_use(reason: MemoryInUse) -> str:
    asks, free = (amount_text("memory", amount) for amount in (reason.asked, reason.available))
    return f"other programs use the memory: asks {asks}, most free {free}"


def _port(port: HostPort) -> str:
    return f"{port.protocol}/{port.port}{f'@{port.address}' if port.address else ''}"


def _volume_limit(reason: TooManyVolumes) -> str:
    return f"too many volumes of {reason.driver}" if reason.driver else "too many volumes"


def _plugin(reason: RefusedByPlugin) -> str:
    return one_line(reason.words) or "refused, without a word why"


# -- other tasks


def _near(reason: JobAffinityUnmet) -> str:
    return f"no job with {requirements_text(reason.requirements)} in the same {reason.topology_key}"


def _away(reason: JobAntiAffinityUnmet) -> str:
    conditions = requirements_text(reason.requirements)
    return f"anti-affinity: a job with {conditions} in the same {reason.topology_key}"


def _other_domains(reason: OtherDomains) -> str:
    jobs, key = requirements_text(reason.requirements), reason.topology_key
    if reason.held < reason.count:
        return f"jobs with {jobs} are in {reason.held} of {reason.count} {key}: it has to be in another one"
    return f"jobs with {jobs} are in {reason.held} {key} already: it has to be in one of them"


def _gang_beyond(reason: GangBeyondCapacity) -> str:
    return (
        f"gang beyond capacity: {reason.needed} tasks start together, {reason.fitting} fit when all is idle"
    )


def _layout(reason: LayoutLacksRoom) -> str:
    return f"no room for {count_text(reason.needed, 'task')} {_layout_text(reason.rules)}"


def _layout_beyond(reason: LayoutBeyondCapacity) -> str:
    tasks = count_text(reason.needed, "task")
    return f"beyond capacity: {tasks} {_layout_text(reason.rules)}, {reason.fitting} fit when all is idle"


def _layout_text(rules: tuple[TopologyRule, ...]) -> str:
    return " and ".join(map(_layout_rule, rules))


def _layout_rule(rule: TopologyRule) -> str:
    if rule.count:
        return f"in {rule.count} of {rule.key}"
    if rule.mode is TopologyMode.DIFFERENT:
        return f"each in another {rule.key}"
    return f"in one {rule.key}"


# -- tenants and queues


def _quota(reason: QuotaReached) -> str:
    asks, left = asked_text(reason.resource, reason.asked), amount_text(reason.resource, reason.left)
    return f"quota of {'/'.join(reason.tenant)}: asks {asks}, {left} left"


def _quota_beyond(reason: BeyondQuota) -> str:
    asks = asked_text(reason.resource, reason.asked)
    return f"beyond the quota of {'/'.join(reason.tenant)}: asks {asks}"


def _limit(reason: LimitReached | BeyondLimit) -> str:
    whose = f"{reason.scope} {reason.name}".rstrip()
    if reason.is_of_jobs:
        return f"limit of {whose}: {count_text(reason.most, 'job')} at once"
    most = asked_text(reason.resource, reason.most)
    return f"limit of {whose}: {most} at once, asks {asked_amount_text(reason.resource, reason.asked)}"


def _array_limit(reason: ArrayLimitReached) -> str:
    return f"at most {reason.most} of array {reason.array} at once"


def _preempted(reason: WasPreempted) -> str:
    by = f" by {reason.by}" if reason.by else ""
    return f"preempted{by}, queued again"


def _no_scheduler(reason: NoScheduler) -> str:
    if not reason.scheduler:
        return f"no scheduler serves the namespace {reason.namespace}"
    where = f" for the namespace {reason.namespace}" if reason.namespace else ""
    return f"no scheduler named {reason.scheduler}{where}"


ENGINE_REASONS: ReasonWords = dict(
    (
        said(BeyondCapacity, _beyond_capacity),
        said(Insufficient, _insufficient),
        said(OtherDomains, _other_domains),
        said(
            TooFewDomains,
            lambda r: f"jobs have to be in {r.count} {r.topology_key} together, and there are {r.there}",
        ),
        said(MemoryInUse, _memory_in_use),
        always(NodeInUse, "node in use: asks to have it to itself"),
        always(NodeExclusive, "a job has the node to itself"),
        said(PortTaken, lambda r: f"host port {_port(r.port)} taken"),
        said(DiskTaken, lambda r: f"disk {r.disk} in use there"),
        said(ClaimInUse, lambda r: f"another task uses claim {r.claim}, which is for one at a time"),
        said(TooManyVolumes, _volume_limit),
        always(VolumeOutOfReach, "one of its volumes can't be used there"),
        always(VolumeInOtherZone, "one of its volumes is in another zone"),
        always(NoVolumeToBind, "no volume there for one of its claims"),
        always(NoSpaceForVolume, "too little space there for one of its volumes"),
        said(JobAffinityUnmet, _near),
        said(JobAntiAffinityUnmet, _away),
        always(RunningAntiAffinity, "anti-affinity of a job there"),
        said(TopologyLabelMissing, lambda r: f"node has no label {r.key}"),
        said(
            SpreadUneven,
            lambda r: f"spread over {r.topology_key} would be uneven by more than {r.max_skew}",
        ),
        said(RefusedByPlugin, _plugin),
        said(GangLacksRoom, lambda r: f"room for {r.fitting} of the {r.needed} tasks that start together"),
        said(GangBeyondCapacity, _gang_beyond),
        said(LayoutLacksRoom, _layout),
        said(LayoutBeyondCapacity, _layout_beyond),
        said(QuotaReached, _quota),
        said(BeyondQuota, _quota_beyond),
        said(LimitReached, _limit),
        said(BeyondLimit, _limit),
        said(ArrayLimitReached, _array_limit),
        said(AwaitsPartner, lambda r: f"waits for its partner {r.job}"),
        said(BehindInStrictQueue, lambda r: f"behind {r.job}, which can't start (strict queue)"),
        said(WasPreempted, _preempted),
        always(NobodyToEvict, "nobody there may be evicted for it"),
        always(EvictedByTaint, "evicted by a NoExecute taint, queued again"),
        always(EvictedForMaintenance, "evicted for maintenance"),
        said(NoScheduler, _no_scheduler),
        always(NoNodes, "the cluster has no nodes"),
    )
)
