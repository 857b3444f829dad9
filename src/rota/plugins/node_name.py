"""A task for which somebody has chosen the node already."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.ids import NodeName
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class NodeNameFilter:
    concern = Concern.OTHER

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
            yield Reason(Code.OTHER_NODE_NAMED, task.spec.node_name), ~passes
