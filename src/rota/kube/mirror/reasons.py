"""Why a pod isn't even decided about, or otherwise than it says: as data. Words are made in `words`."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rota.model.ids import NodeName


class GangIncomplete(Struct, frozen=True):
    """Too few pods of its gang are there, or could start."""

    gang: str
    ready: int
    needed: int
    role: str = ""
    """Of which pods of it; empty: of all."""


class GangOthersFirst(Struct, frozen=True):
    """Those of its gang that must start together haven't started yet, and it isn't one of them."""

    gang: str


class PodGroupMissing(Struct, frozen=True):
    """It names a PodGroup that isn't there, or not yet."""

    group: str


class PodGroupUnusable(Struct, frozen=True):
    group: str
    problem: str


class ClaimMissing(Struct, frozen=True):
    claim: str


class ClaimsUnbound(Struct, frozen=True):
    """Of claims whose volumes are chosen without regard to the pod: somebody else has to."""


class ClaimAwaited(Struct, frozen=True):
    """Of a volume that lives as long as its pod: a controller of the cluster is to make the claim."""

    claim: str


class ClaimLost(Struct, frozen=True):
    """Its volume is gone, with all that was on it."""

    claim: str
    volume: str


class ClaimEnding(Struct, frozen=True):
    claim: str


class ClaimOfAnother(Struct, frozen=True):
    """It has the name of the claim that would be made for this pod, and wasn't."""

    claim: str


class VolumeMissing(Struct, frozen=True):
    volume: str


class AwaitsVictims(Struct, frozen=True):
    """Room is being made for it: pods on that node are ending."""

    node: NodeName


class Unusable(Struct, frozen=True):
    """It can't be read as a pod."""

    problem: str


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
)


class Misread(Struct, frozen=True):
    """Something that it says of its gang can't be used, and this is what counts instead."""

    problem: str
    assumed: str
