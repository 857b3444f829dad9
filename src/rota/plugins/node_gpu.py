"""Tasks that need a node with certain models of GPU, whatever its GPUs are counted as: in a Kubernetes
cluster they are resources of any name."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.gpu_models import is_model
from rota.model.verdict import Reason
from rota.plugins.gpu_model import OtherGpuModel
from rota.snapshot.nodes import NodeColumns


class NodeGpuFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        wanted = task.spec.node_gpu_models
        if not wanted:
            return None
        column = nodes.gpu_model
        will_do = [any(is_model(one, model) for one in wanted) for model in column.values]
        # Nodes without a model have the code -1.
        found: Bools = np.array([*will_do, False], dtype=np.bool_)[column.codes]
        return found

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield OtherGpuModel(task.spec.node_gpu_models), ~passes
