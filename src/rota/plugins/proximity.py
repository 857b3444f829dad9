"""How near a node is to where the task's data is: the share of the labels it names that match."""

import numpy as np

from rota.engine.plugin import FULL_SCORE, Rating, TaskView
from rota.model.selectors import Operator, Requirement
from rota.snapshot.nodes import NodeColumns


class ProximityScore:
    criterion = "proximity"

    def rate(self, task: TaskView, nodes: NodeColumns) -> Rating | None:
        near = task.spec.near
        if not near:
            return None
        matched = np.zeros(len(nodes), dtype=np.int64)
        for key, value in near:
            matched += nodes.topology(key).matching(Requirement(key, Operator.IN, (value,)))
        return Rating(matched * FULL_SCORE // len(near))
