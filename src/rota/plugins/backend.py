"""Only nodes of the backends that the job names."""

from collections.abc import Iterator
from typing import ClassVar

from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import Reason, Rule, TypedReason, Unblock, never
from rota.snapshot.nodes import NodeColumns


class NotOfBackend(TypedReason, frozen=True, tag="backend"):
    rule: ClassVar[Rule] = never("backend", Unblock.NODE_ADDED)
    backends: tuple[str, ...]


class BackendFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.backends:
            return None
        return nodes.backend.matching(Requirement("backend", Operator.IN, task.spec.backends))

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield NotOfBackend(task.spec.backends), ~passes
