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


class ClaimMissing(Struct, frozen=True):
    claim: str


class ClaimsUnbound(Struct, frozen=True):
    """Of claims whose volumes are chosen without regard to the pod: somebody else has to."""


class ClaimNeedsHand(Struct, frozen=True):
    """Its volumes are made by hand, one for each node, and this scheduler doesn't choose among them."""

    claim: str


class AwaitsVictims(Struct, frozen=True):
    """Room is being made for it: pods on that node are ending."""

    node: NodeName


class Unusable(Struct, frozen=True):
    """It can't be read as a pod."""

    problem: str


Hold: TypeAlias = GangIncomplete | ClaimMissing | ClaimsUnbound | ClaimNeedsHand | AwaitsVictims | Unusable


class Misread(Struct, frozen=True):
    """Something that it says of its gang can't be used, and this is what counts instead."""

    problem: str
    assumed: str
