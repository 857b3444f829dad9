"""How near a node is to where the task's data is: the share of the labels it names that match."""

import numpy as np

from rota.engine.plugin import FULL_SCORE, Int64s, TaskView
from rota.model.selectors import Operator, Requirement
from rota.snapshot.nodes import NodeColumns


class ProximityScore:
    criterion = "proximity"

    def rate(self, task: TaskView, nodes: NodeColumns) -> Int64s | None:
        near = task.spec.near
        if not near:
            return None
        matched = np.zeros(len(nodes), dtype=np.int64)
        for key, value in near:
            matched += nodes.topology(key).matching(Requirement(key, Operator.IN, (value,)))
        return matched * FULL_SCORE // len(near)
