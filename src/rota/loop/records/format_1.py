"""Reasons in records of format 1, which Rota up to 0.5 wrote: a code, and texts with facts packed into them.

Nothing else takes those texts apart. Rota writes format 2 now, in which each reason has its own fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, ValidationError, convert

from rota.model.ids import JobId
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
    MaintenanceAhead,
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoScheduler,
    NoSpaceForVolume,
    NotReservedFor,
    NoVolumeToBind,
    OutsideReservation,
    PeriodMissed,
    PortTaken,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    RefusedByPlugin,
    ReservationTime,
    RoomPlanned,
    RoomReserved,
    RunningAntiAffinity,
    SlaMissed,
    SpreadUneven,
    TooEarly,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
    WasPreempted,
)
from rota.model.resources import HostPort
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector
from rota.model.taints import Effect
from rota.model.task import VolumeTrouble
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

_NODE_NAME = "metadata.name"
_RUNNING_JOBS = "jobs"
_GPU_SHARE = "gpu share"


class Written(Struct, frozen=True):
    """A reason as it stands in such a record."""

    code: str
    subject: str = ""
    asked: int = 0
    available: int = 0
    detail: str = ""


def read_reason(kind: type, written: Any) -> Any:
    """For msgspec, as `dec_hook`."""
    if kind is not Reason:
        raise NotImplementedError
    old = convert(written, Written)
    read = _READERS.get(old.code)
    if read is None:
        raise ValidationError(f"there is no reason with the code {old.code!r}")
    return read(old)


# -- nodes


def _taint(kind: type[UntoleratedTaint | UntoleratedPassingTaint]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        notation, _, others = old.subject.partition(" and ")
        mark, _, effect = notation.rpartition(":")
        key, _, value = mark.partition("=")
        return kind(key, value, Effect(effect), int(others.removesuffix(" others") or 0))

    return read


def _selector(old: Written) -> Reason:
    key, _, value = old.subject.partition("=")
    return NodeSelectorUnmet(key, value)


def _node_affinity(old: Written) -> Reason:
    terms = []
    for alternative in old.subject.split(" or "):
        every = _requirements("" if alternative == "nothing" else alternative)
        labels = Selector(tuple(one for one in every if one.key != _NODE_NAME))
        terms.append(NodeTerm(labels, tuple(one for one in every if one.key == _NODE_NAME)))
    return NodeAffinityUnmet(tuple(terms))


def _requirements(text: str) -> tuple[Requirement, ...]:
    return tuple(_requirement(*condition.split(" ")) for condition in text.split(" and ") if condition)


def _requirement(key: str, operator: str, values: str = "") -> Requirement:
    return Requirement(key, Operator(operator), tuple(values.split(",")) if values else ())


# -- room


def _amount(kind: type[BeyondCapacity | Insufficient]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        is_share = old.subject == _GPU_SHARE
        resource, also = "gpu" if is_share else old.subject, _listed(old.detail, ",")
        return kind(resource, old.asked, old.available, is_share, also)

    return read


def _port(old: Written) -> Reason:
    protocol, _, place = old.subject.partition("/")
    number, _, address = place.partition("@")
    return PortTaken(HostPort(int(number), protocol, address))


def _out_of_reach(old: Written) -> Reason:
    return VolumeOutOfReach(tuple(map(VolumeTrouble, _listed(old.detail, ","))))


def _listed(text: str, separator: str) -> tuple[str, ...]:
    return tuple(text.split(separator)) if text else ()


# -- other tasks


def _company(kind: type[JobAffinityUnmet | JobAntiAffinityUnmet]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        key, _, conditions = old.subject.partition(": ")
        return kind(key, _requirements("" if conditions == "any job" else conditions))

    return read


def _layout(kind: type[LayoutLacksRoom | LayoutBeyondCapacity]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        rules = tuple(_rule(*rule.split(": ")) for rule in _listed(old.detail, ", "))
        return kind(rules, old.asked, old.available)

    return read


def _rule(key: str, mode: str) -> TopologyRule:
    if mode.isdecimal():
        return TopologyRule(key, TopologyMode.COUNT, int(mode))
    return TopologyRule(key, TopologyMode(mode))


# -- tenants


def _quota(kind: type[QuotaReached | BeyondQuota]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        tenant, _, resource = old.subject.rpartition(" ")
        return kind(tuple(tenant.split("/")), resource, old.asked, old.available)

    return read


def _limit(kind: type[LimitReached | BeyondLimit]) -> Callable[[Written], Reason]:
    def read(old: Written) -> Reason:
        whose, _, resource = old.subject.rpartition(" ")
        scope, _, name = whose.partition(" ")
        counted = "" if resource == _RUNNING_JOBS else resource
        return kind(scope, name, counted, old.asked, old.available)

    return read


# -- time

_TIMES = {
    "not begun": ReservationTime.NOT_BEGUN,
    "over": ReservationTime.OVER,
    "ends before the job": ReservationTime.TOO_SHORT,
}


def _reservation(old: Written) -> Reason:
    if not old.detail:
        return RoomReserved(old.subject, old.asked)
    return OutsideReservation(old.subject, _TIMES[old.detail], old.asked)


def _not_reserved(old: Written) -> Reason:
    project, _, user = old.detail.partition("/")
    return NotReservedFor(old.subject, project, user)


_READERS: dict[str, Callable[[Written], Reason]] = {
    "node not ready": lambda _: NodeNotReady(),
    "node cordoned": lambda _: NodeCordoned(),
    "other node named": lambda old: OtherNodeNamed(old.subject),
    "pool": lambda old: NotInPool(_listed(old.subject, ", ")),
    "backend": lambda old: NotOfBackend(_listed(old.subject, ", ")),
    "node selector": _selector,
    "node affinity": _node_affinity,
    "taint": _taint(UntoleratedTaint),
    "passing taint": _taint(UntoleratedPassingTaint),
    "gpu model": lambda old: OtherGpuModel(_listed(old.subject, " or ")),
    "price": lambda old: TooExpensive(old.asked, old.available),
    "beyond capacity": _amount(BeyondCapacity),
    "insufficient": _amount(Insufficient),
    "node in use": lambda _: NodeInUse(),
    "node exclusive": lambda _: NodeExclusive(),
    "port taken": _port,
    "disk taken": lambda old: DiskTaken(old.subject),
    "claim in use": lambda old: ClaimInUse(old.subject.removeprefix("claim ")),
    "volume limit": lambda old: TooManyVolumes(old.subject),
    "volume affinity": _out_of_reach,
    "volume zone": lambda _: VolumeInOtherZone(),
    "no volume to bind": lambda _: NoVolumeToBind(),
    "no space for a volume": lambda _: NoSpaceForVolume(),
    "job affinity": _company(JobAffinityUnmet),
    "job anti-affinity": _company(JobAntiAffinityUnmet),
    "running job's anti-affinity": lambda _: RunningAntiAffinity(),
    "topology label missing": lambda old: TopologyLabelMissing(old.subject),
    "spread": lambda old: SpreadUneven(old.subject, old.asked),
    "plugin": lambda old: RefusedByPlugin(old.subject, old.detail),
    "gang": lambda old: GangLacksRoom(old.asked, old.available),
    "gang beyond capacity": lambda old: GangBeyondCapacity(old.asked, old.available),
    "topology": _layout(LayoutLacksRoom),
    "topology beyond capacity": _layout(LayoutBeyondCapacity),
    "quota": _quota(QuotaReached),
    "quota beyond": _quota(BeyondQuota),
    "limit": _limit(LimitReached),
    "limit beyond": _limit(BeyondLimit),
    "partner": lambda old: AwaitsPartner(JobId(old.subject)),
    "strict queue": lambda old: BehindInStrictQueue(JobId(old.subject)),
    "queue paused": lambda old: QueuePaused(old.subject, old.detail),
    "queue closed": lambda old: QueueClosed(old.subject, old.detail),
    "calendar": lambda old: RoomPlanned(JobId(old.subject), old.asked),
    "too early": lambda old: TooEarly(old.asked),
    "promised": lambda old: PromisedLater(old.asked),
    "period missed": lambda old: PeriodMissed(old.asked),
    "sla missed": lambda old: SlaMissed(old.asked),
    "reservation": _reservation,
    "not reserved for": _not_reserved,
    "maintenance": lambda old: MaintenanceAhead(old.subject, old.asked),
    "preempted": lambda old: WasPreempted(JobId(old.subject)),
    "evicted by taint": lambda _: EvictedByTaint(),
    "evicted for maintenance": lambda _: EvictedForMaintenance(),
    "no scheduler": lambda old: NoScheduler(old.subject, old.detail),
    "no nodes": lambda _: NoNodes(),
}
