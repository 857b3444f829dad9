"""Words for reasons, by their types.

A rule that is new gets its words here: one line of `REASONS`, or of `calendar_words` where it is a matter of
time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rota.model.job import TopologyMode, TopologyRule
from rota.model.reasons import (
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
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoScheduler,
    NoSpaceForVolume,
    NoVolumeToBind,
    PortTaken,
    QuotaReached,
    RefusedByPlugin,
    RunningAntiAffinity,
    SpreadUneven,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
    WasPreempted,
)
from rota.model.resources import HostPort
from rota.model.verdict import Reason
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.pool import NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from rota.views.amounts import amount_text, asked_amount_text, asked_text, count_text, price_text
from rota.views.calendar_words import CALENDAR_PASSING, CALENDAR_REASONS
from rota.views.conditions import requirements_text, terms_text
from rota.views.quoting import one_line
from rota.views.times import TimeText

R = TypeVar("R", bound=Reason)
Entry = tuple[type[Reason], Callable[[Any, TimeText], str]]


def _said(kind: type[R], words: Callable[[R], str]) -> Entry:
    return kind, lambda reason, _: words(reason)


def _always(kind: type[Reason], words: str) -> Entry:
    return kind, lambda reason, _: words


# -- nodes


def _pool(reason: NotInPool) -> str:
    if not reason.pools:
        return "no pool that job, queue and tenant have in common"
    return f"not in pool {', '.join(reason.pools)}"


def _taint(reason: UntoleratedTaint | UntoleratedPassingTaint) -> str:
    others = f" and {reason.others} others" if reason.others else ""
    return f"untolerated taint {taint_name(reason)}{others}"


def taint_name(reason: UntoleratedTaint | UntoleratedPassingTaint) -> str:
    if reason.effect is None:
        return f"{reason.key}: {reason.value}"
    return f"{reason.key}{f'={reason.value}' if reason.value else ''}:{reason.effect.value}"


def _price(reason: TooExpensive) -> str:
    allowed, cheapest = price_text(reason.limit_micro), price_text(reason.cheapest_micro)
    return f"too dear: allows {allowed}, cheapest {cheapest}"


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


def _preempted(reason: WasPreempted) -> str:
    by = f" by {reason.by}" if reason.by else ""
    return f"preempted{by}, queued again"


def _no_scheduler(reason: NoScheduler) -> str:
    if not reason.scheduler:
        return f"no scheduler serves the namespace {reason.namespace}"
    where = f" for the namespace {reason.namespace}" if reason.namespace else ""
    return f"no scheduler named {reason.scheduler}{where}"


REASONS: dict[type[Reason], Callable[[Any, TimeText], str]] = {
    **CALENDAR_REASONS,
    **dict(
        (
            _always(NodeNotReady, "node not ready"),
            _always(NodeCordoned, "node cordoned"),
            _said(OtherNodeNamed, lambda r: f"only node {r.node} will do"),
            _said(NotInPool, _pool),
            _said(NotOfBackend, lambda r: f"not of backend {', '.join(r.backends)}"),
            _said(NodeSelectorUnmet, lambda r: f"node selector {r.key}={r.value} doesn't match"),
            _said(NodeAffinityUnmet, lambda r: f"node affinity {terms_text(r.terms)} doesn't match"),
            _said(UntoleratedTaint, _taint),
            _said(UntoleratedPassingTaint, _taint),
            _said(OtherGpuModel, lambda r: f"no GPU of model {' or '.join(r.models)}"),
            _said(TooExpensive, _price),
            _said(BeyondCapacity, _beyond_capacity),
            _said(Insufficient, _insufficient),
            _always(NodeInUse, "node in use: asks to have it to itself"),
            _always(NodeExclusive, "a job has the node to itself"),
            _said(PortTaken, lambda r: f"host port {_port(r.port)} taken"),
            _said(DiskTaken, lambda r: f"disk {r.disk} in use there"),
            _said(ClaimInUse, lambda r: f"another task uses claim {r.claim}, which is for one at a time"),
            _said(TooManyVolumes, _volume_limit),
            _always(VolumeOutOfReach, "one of its volumes can't be used there"),
            _always(VolumeInOtherZone, "one of its volumes is in another zone"),
            _always(NoVolumeToBind, "no volume there for one of its claims"),
            _always(NoSpaceForVolume, "too little space there for one of its volumes"),
            _said(JobAffinityUnmet, _near),
            _said(JobAntiAffinityUnmet, _away),
            _always(RunningAntiAffinity, "anti-affinity of a job there"),
            _said(TopologyLabelMissing, lambda r: f"node has no label {r.key}"),
            _said(
                SpreadUneven,
                lambda r: f"spread over {r.topology_key} would be uneven by more than {r.max_skew}",
            ),
            _said(RefusedByPlugin, _plugin),
            _said(
                GangLacksRoom, lambda r: f"room for {r.fitting} of the {r.needed} tasks that start together"
            ),
            _said(GangBeyondCapacity, _gang_beyond),
            _said(LayoutLacksRoom, _layout),
            _said(LayoutBeyondCapacity, _layout_beyond),
            _said(QuotaReached, _quota),
            _said(BeyondQuota, _quota_beyond),
            _said(LimitReached, _limit),
            _said(BeyondLimit, _limit),
            _said(AwaitsPartner, lambda r: f"waits for its partner {r.job}"),
            _said(BehindInStrictQueue, lambda r: f"behind {r.job}, which can't start (strict queue)"),
            _said(WasPreempted, _preempted),
            _always(EvictedByTaint, "evicted by a NoExecute taint, queued again"),
            _always(EvictedForMaintenance, "evicted for maintenance"),
            _said(NoScheduler, _no_scheduler),
            _always(NoNodes, "the cluster has no nodes"),
        )
    ),
}

PASSING: dict[type[Reason], str] = {**CALENDAR_PASSING}
"""Whether they can pass, where the events of their rule would say it badly."""
