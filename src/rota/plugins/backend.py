"""Only nodes of the backends that the job names."""

from collections.abc import Iterator

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class BackendFilter:
    concern = Concern.OTHER

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.backends:
            return None
        return nodes.backend.matching(Requirement("backend", Operator.IN, task.spec.backends))

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield Reason(Code.BACKEND, ", ".join(task.spec.backends)), ~passes
