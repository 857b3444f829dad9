"""Nodes that are down or cordoned take nothing new."""

from collections.abc import Iterator

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class NodeReadyFilter:
    concern = Concern.CONDITION

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        return nodes.ready & ~nodes.cordoned

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        yield Reason(Code.NODE_NOT_READY), ~nodes.ready
        yield Reason(Code.NODE_CORDONED), nodes.cordoned
