"""Too little room on a node, or in the cluster."""

from __future__ import annotations

from typing import ClassVar

from rota.model.resources import HostPort
from rota.model.verdict import CLUSTER, ROOM, Rule, TypedReason, Unblock, never, not_now


class NoNodes(TypedReason, frozen=True, tag="no nodes"):
    rule: ClassVar[Rule] = never("nodes", Unblock.NODE_ADDED, is_about_the_job=False)


class BeyondCapacity(TypedReason, frozen=True, tag="beyond capacity"):
    """No such node has as much, however idle."""

    rule: ClassVar[Rule] = never("resources", *CLUSTER)
    resource: str
    asked: int
    """In the resource's base unit, like `available`."""
    available: int = 0
    """The most that any of the nodes concerned has."""
    of_one_device: bool = False
    """Of a GPU: a part of a single one is asked for, not whole ones."""
    also: tuple[str, ...] = ()
    """Other resources that the same nodes lack, where all are to be named."""


class Insufficient(TypedReason, frozen=True, tag="insufficient"):
    """Others have what is asked for."""

    rule: ClassVar[Rule] = not_now("resources", *ROOM)
    resource: str
    asked: int
    available: int = 0
    of_one_device: bool = False
    also: tuple[str, ...] = ()


class MemoryInUse(TypedReason, frozen=True, tag="memory in use"):
    """Tasks leave enough, but other programs on the machine have taken it."""

    rule: ClassVar[Rule] = not_now("memory", *ROOM)
    asked: int
    available: int = 0
    """The most that is left on any of the nodes concerned."""


class NodeInUse(TypedReason, frozen=True, tag="node in use"):
    """The job asks to have the node to itself, and others run there."""

    rule: ClassVar[Rule] = not_now("exclusive", *ROOM)


class NodeExclusive(TypedReason, frozen=True, tag="node exclusive"):
    """Another job has the node to itself."""

    rule: ClassVar[Rule] = not_now("exclusive", *ROOM)


class PortTaken(TypedReason, frozen=True, tag="port taken"):
    rule: ClassVar[Rule] = not_now("ports", *ROOM)
    port: HostPort


class RefusedByPlugin(TypedReason, frozen=True, tag="plugin"):
    """A plugin from outside won't have the node."""

    rule: ClassVar[Rule] = not_now("plugin", Unblock.TASK_PLACED, *ROOM, Unblock.POLICY_CHANGED)
    name: str
    words: str = ""
    """The plugin's own."""

    @property
    def plugin(self) -> str:
        return self.name
