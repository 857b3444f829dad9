"""Nodes on which the task would cost more than its job allows."""

from collections.abc import Iterator
from typing import ClassVar

from rota.engine.placing.score import task_price_micro
from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, never
from rota.snapshot.nodes import NodeColumns


class TooExpensive(TypedReason, frozen=True, tag="price"):
    rule: ClassVar[Rule] = never("price", *CLUSTER)
    limit_micro: int
    """For a task and an hour."""
    cheapest_micro: int
    """On any of the nodes that are too expensive."""


class PriceFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        most = task.spec.max_price_micro_per_hour
        return None if most is None else task_price_micro(task.demand, nodes) <= most

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        most = task.spec.max_price_micro_per_hour
        if most is not None:
            price = task_price_micro(task.demand, nodes)
            dear = price > most
            cheapest = int(price[dear].min()) if dear.any() else 0
            yield TooExpensive(most, cheapest), dear
