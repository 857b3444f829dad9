"""GPU tasks that need certain models of GPU."""

from collections.abc import Iterator

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class GpuModelFilter:
    concern = Concern.OTHER

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        gpu = task.spec.gpu
        if not gpu.count or not gpu.models:
            return None
        return nodes.gpu_model.matching(Requirement("gpu", Operator.IN, gpu.models))

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield Reason(Code.GPU_MODEL, " or ".join(task.spec.gpu.models)), ~passes
