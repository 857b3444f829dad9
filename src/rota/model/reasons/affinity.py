"""Which other tasks are near: affinity between jobs, and spreading."""

from __future__ import annotations

from typing import ClassVar

from rota.model.selectors import Requirement
from rota.model.verdict import CLUSTER, ROOM, Rule, TypedReason, Unblock, never, not_now


class JobAffinityUnmet(TypedReason, frozen=True, tag="job affinity"):
    """No job that meets the requirements is in the same domain."""

    rule: ClassVar[Rule] = not_now("job-affinity", Unblock.TASK_PLACED, *CLUSTER)
    topology_key: str
    requirements: tuple[Requirement, ...] = ()
    """Of the other job's labels; empty: any job will do."""


class JobAntiAffinityUnmet(TypedReason, frozen=True, tag="job anti-affinity"):
    """A job that meets the requirements is in the same domain."""

    rule: ClassVar[Rule] = not_now("job-affinity", *ROOM)
    topology_key: str
    requirements: tuple[Requirement, ...] = ()


class RunningAntiAffinity(TypedReason, frozen=True, tag="running job's anti-affinity"):
    """A job there won't have this one near it."""

    rule: ClassVar[Rule] = not_now("job-affinity", *ROOM)


class TopologyLabelMissing(TypedReason, frozen=True, tag="topology label missing"):
    rule: ClassVar[Rule] = never("job-affinity", *CLUSTER)
    key: str


class OtherDomains(TypedReason, frozen=True, tag="in domains"):
    """Jobs that meet the requirements are to be in so many domains together, and this one would be wrong."""

    rule: ClassVar[Rule] = not_now("in-domains", Unblock.TASK_PLACED, *ROOM)
    topology_key: str
    count: int
    held: int
    """In so many they are."""
    requirements: tuple[Requirement, ...] = ()


class TooFewDomains(TypedReason, frozen=True, tag="too few domains"):
    rule: ClassVar[Rule] = never("in-domains", *CLUSTER)
    topology_key: str
    count: int
    there: int


class SpreadUneven(TypedReason, frozen=True, tag="spread"):
    rule: ClassVar[Rule] = not_now("spread", Unblock.TASK_PLACED, *ROOM)
    topology_key: str
    max_skew: int
