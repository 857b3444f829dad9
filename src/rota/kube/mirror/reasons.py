"""Why a pod isn't even decided about, or otherwise than it says. Words are in `scheduling/words.py`."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeAlias

from msgspec import Struct

from rota.model.ids import NodeName
from rota.model.verdict import ROOM, Rule, TypedReason, Unblock, not_now


class GangIncomplete(TypedReason, frozen=True, tag="gang incomplete"):
    """Too few pods of its gang are there, or could start."""

    rule: ClassVar[Rule] = not_now("gang", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    gang: str
    ready: int
    needed: int
    role: str = ""
    """Of which pods of it; empty: of all."""


class GangOthersFirst(TypedReason, frozen=True, tag="gang's others first"):
    """Those of its gang that must start together haven't started yet, and it isn't one of them."""

    rule: ClassVar[Rule] = not_now("gang", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    gang: str


class PodGroupMissing(TypedReason, frozen=True, tag="no pod group"):
    """It names a PodGroup that isn't there, or not yet."""

    rule: ClassVar[Rule] = not_now("gang", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    group: str


class PodGroupUnusable(TypedReason, frozen=True, tag="pod group unusable"):
    rule: ClassVar[Rule] = not_now("gang", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    group: str
    problem: str


class ClaimMissing(TypedReason, frozen=True, tag="no claim"):
    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    claim: str


class ClaimsUnbound(TypedReason, frozen=True, tag="claims unbound"):
    """Of claims whose volumes are chosen without regard to the pod: somebody else has to."""

    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)


class ClaimAwaited(TypedReason, frozen=True, tag="claim awaited"):
    """Of a volume that lives as long as its pod: a controller of the cluster is to make the claim."""

    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    claim: str


class ClaimLost(TypedReason, frozen=True, tag="claim lost"):
    """Its volume is gone, with all that was on it."""

    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    claim: str
    volume: str


class ClaimEnding(TypedReason, frozen=True, tag="claim ending"):
    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    claim: str


class ClaimOfAnother(TypedReason, frozen=True, tag="claim of another"):
    """It has the name of the claim that would be made for this pod, and wasn't."""

    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    claim: str


class VolumeMissing(TypedReason, frozen=True, tag="no volume"):
    rule: ClassVar[Rule] = not_now("volumes", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    volume: str


class AwaitsVictims(TypedReason, frozen=True, tag="awaits victims"):
    """Room is being made for it: pods on that node are ending."""

    rule: ClassVar[Rule] = not_now("preemption", *ROOM, is_about_the_job=False)
    node: NodeName


class Unusable(TypedReason, frozen=True, tag="pod unusable"):
    """It can't be read as a pod."""

    rule: ClassVar[Rule] = not_now("pod", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    problem: str


class Wish(Enum):
    """What a pod may say of itself, by a label or an annotation."""

    PROJECT = "project"
    USER = "user"
    QUEUE = "queue"
    UNKNOWN_QUEUE = "unknown queue"
    EXCLUSIVE = "exclusive"


class NotAllowed(TypedReason, frozen=True, tag="not allowed"):
    """The policy doesn't let pods of its namespace say that."""

    rule: ClassVar[Rule] = not_now("pod", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    wish: Wish
    value: str
    namespace: str
    project: str


Hold: TypeAlias = (
    GangIncomplete
    | GangOthersFirst
    | PodGroupMissing
    | PodGroupUnusable
    | ClaimMissing
    | ClaimsUnbound
    | ClaimAwaited
    | ClaimLost
    | ClaimEnding
    | ClaimOfAnother
    | VolumeMissing
    | AwaitsVictims
    | Unusable
    | NotAllowed
)


class Misread(Struct, frozen=True):
    """Something that it says of its gang can't be used, and this is what counts instead."""

    problem: str
    assumed: str
