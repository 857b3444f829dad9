"""What is the matter with a task's volumes on a node."""

from __future__ import annotations

from typing import ClassVar

from rota.model.task import VolumeTrouble
from rota.model.verdict import CLUSTER, ROOM, Rule, TypedReason, never, not_now


class DiskTaken(TypedReason, frozen=True, tag="disk taken"):
    rule: ClassVar[Rule] = not_now("volumes", *ROOM)
    disk: str


class ClaimInUse(TypedReason, frozen=True, tag="claim in use"):
    """Another task uses a claim that is for one at a time."""

    rule: ClassVar[Rule] = not_now("volumes", *ROOM)
    claim: str


class TooManyVolumes(TypedReason, frozen=True, tag="volume limit"):
    rule: ClassVar[Rule] = not_now("volumes", *ROOM)
    driver: str = ""
    """Of which a node can hold only so many; empty: of any."""


class VolumeOutOfReach(TypedReason, frozen=True, tag="volume affinity"):
    rule: ClassVar[Rule] = never("volumes", *CLUSTER)
    also: tuple[VolumeTrouble, ...] = ()
    """What else is the matter there, where all is to be named."""


class VolumeInOtherZone(TypedReason, frozen=True, tag="volume zone"):
    rule: ClassVar[Rule] = never("volumes", *CLUSTER)


class NoVolumeToBind(TypedReason, frozen=True, tag="no volume to bind"):
    rule: ClassVar[Rule] = not_now("volumes", *ROOM)


class NoSpaceForVolume(TypedReason, frozen=True, tag="no space for a volume"):
    rule: ClassVar[Rule] = not_now("volumes", *ROOM)
