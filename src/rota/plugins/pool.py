"""Only nodes of the pools that the job, its queue and its tenant may use."""

from collections.abc import Iterator

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class PoolFilter:
    concern = Concern.OTHER

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.pools:
            return None
        return nodes.pool.matching(Requirement("pool", Operator.IN, task.spec.pools))

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield Reason(Code.POOL, ", ".join(task.spec.pools).strip("\0")), ~passes
