"""Labels that a node must have."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from rota.engine.loosening import Loosening, SpecChange, with_specs
from rota.engine.plugin import Bools, Concern, NodeFilter, TaskView
from rota.model.explanation import Change, TypedChange
from rota.model.ids import NodeName
from rota.model.job import JobTemplate
from rota.model.node import FACTS
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, never
from rota.snapshot.nodes import NodeColumns


class NodeSelectorUnmet(TypedReason, frozen=True, tag="node selector"):
    rule: ClassVar[Rule] = never("node-selector", *CLUSTER)
    key: str
    value: str


class DropNodeSelector(TypedChange, frozen=True, tag="node selector"):
    size: ClassVar[float] = 0.45
    key: str
    value: str


class LabelNode(TypedChange, frozen=True, tag="node label"):
    """Put the label on the node."""

    size: ClassVar[float] = 0.35
    node: NodeName
    key: str
    value: str


class NodeSelectorFilter(NodeFilter):
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
            yield NodeSelectorUnmet(key, value), ~has_label(nodes, key, value)

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        for key, value in sorted({pair for group in template.groups for pair in group.spec.node_selector}):

            def label(node: NodeName, key: str = key, value: str = value) -> Change | None:
                has_it = (key, value) in nodes.specs[nodes.position[node]].labels
                return None if has_it or key.startswith(FACTS) else LabelNode(node, key, value)

            yield Loosening(
                DropNodeSelector(key, value), with_specs(template, _without((key, value))), on_node=label
            )


def has_label(nodes: NodeColumns, key: str, value: str) -> Bools:
    return nodes.label(key).matching(Requirement(key, Operator.IN, (value,)))


def _without(pair: tuple[str, str]) -> SpecChange:
    return lambda spec: replace(
        spec, node_selector=tuple(other for other in spec.node_selector if other != pair)
    )
