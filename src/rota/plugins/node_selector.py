"""Labels that a node must have."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class NodeSelectorFilter:
    concern = Concern.AFFINITY

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.node_selector:
            return None
        mask = np.ones(len(nodes), dtype=np.bool_)
        for key, value in task.spec.node_selector:
            mask &= has_label(nodes, key, value)
            if not mask.any():
                break
        return mask

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        for key, value in task.spec.node_selector:
            yield Reason(Code.NODE_SELECTOR, f"{key}={value}"), ~has_label(nodes, key, value)


def has_label(nodes: NodeColumns, key: str, value: str) -> Bools:
    return nodes.label(key).matching(Requirement(key, Operator.IN, (value,)))
