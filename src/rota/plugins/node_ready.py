"""Nodes that are down or cordoned take nothing new."""

from collections.abc import Iterator
from typing import ClassVar

from rota.engine.plugin import Bools, Concern, NodeFilter, TaskView
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, not_now
from rota.snapshot.nodes import NodeColumns


class NodeNotReady(TypedReason, frozen=True, tag="node not ready"):
    rule: ClassVar[Rule] = not_now("node-ready", *CLUSTER)


class NodeCordoned(TypedReason, frozen=True, tag="node cordoned"):
    rule: ClassVar[Rule] = not_now("node-ready", *CLUSTER)


class NodeReadyFilter(NodeFilter):
    concern = Concern.CONDITION

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        return nodes.ready & ~nodes.cordoned

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        yield NodeNotReady(), ~nodes.ready
        yield NodeCordoned(), nodes.cordoned
