"""A task for which somebody has chosen the node already."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.ids import NodeName
from rota.model.verdict import Reason, Rule, TypedReason, Unblock, never
from rota.snapshot.nodes import NodeColumns


class OtherNodeNamed(TypedReason, frozen=True, tag="other node named"):
    """Only the node that the task names will do."""

    rule: ClassVar[Rule] = never("node-name", Unblock.NODE_ADDED)
    node: str = ""
    """Empty: it names several."""


class NodeNameFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.node_name:
            return None
        chosen = np.zeros(len(nodes), dtype=np.bool_)
        position = nodes.position.get(NodeName(task.spec.node_name))
        if position is not None:
            chosen[position] = True
        return chosen

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield OtherNodeNamed(task.spec.node_name), ~passes
