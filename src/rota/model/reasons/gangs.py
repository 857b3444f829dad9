"""Tasks that start together, and how they lie to each other; jobs that wait for others."""

from __future__ import annotations

from typing import ClassVar

from rota.model.ids import JobId
from rota.model.job import TopologyRule
from rota.model.verdict import CLUSTER, ROOM, Rule, TypedReason, Unblock, never, not_now


class GangLacksRoom(TypedReason, frozen=True, tag="gang"):
    rule: ClassVar[Rule] = not_now("gang", *ROOM)
    needed: int
    """So many tasks must start together."""
    fitting: int = 0
    """So many of them have room."""


class GangBeyondCapacity(TypedReason, frozen=True, tag="gang beyond capacity"):
    rule: ClassVar[Rule] = never("gang", *CLUSTER)
    needed: int
    fitting: int = 0
    """When all is idle."""


class LayoutLacksRoom(TypedReason, frozen=True, tag="topology"):
    """There is no room for the tasks where its topology rules want them."""

    rule: ClassVar[Rule] = not_now("topology", *ROOM)
    rules: tuple[TopologyRule, ...]
    needed: int
    fitting: int = 0


class LayoutBeyondCapacity(TypedReason, frozen=True, tag="topology beyond capacity"):
    rule: ClassVar[Rule] = never("topology", *CLUSTER)
    rules: tuple[TopologyRule, ...]
    needed: int
    fitting: int = 0
    """When all is idle."""


class AwaitsPartner(TypedReason, frozen=True, tag="partner"):
    """The job that it connects to hasn't started."""

    rule: ClassVar[Rule] = not_now("partner", Unblock.TASK_PLACED, is_about_the_job=False)
    job: JobId
