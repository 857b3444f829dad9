"""Selectors of labels and of nodes, checked as Kubernetes checks them."""

from typing import Annotated, Literal

from msgspec import Meta

from rota.kube_objects.objects.metadata import KubeStruct, NonEmpty
from rota.model.selectors import Operator, whole_number


class LabelRequirement(KubeStruct):
    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] | None = None

    def __post_init__(self) -> None:
        _check_values(Operator(self.operator), self.values or [])


class LabelSelector(KubeStruct):
    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelRequirement] | None = None


class NodeRequirement(KubeStruct):
    key: NonEmpty
    operator: Operator
    values: list[str] | None = None

    def __post_init__(self) -> None:
        _check_values(self.operator, self.values or [])


class NodeFieldRequirement(KubeStruct):
    key: Literal["metadata.name"]
    operator: Literal["In", "NotIn"]
    values: Annotated[list[str], Meta(min_length=1, max_length=1)]


class NodeSelectorTerm(KubeStruct):
    match_expressions: list[NodeRequirement] | None = None
    match_fields: list[NodeFieldRequirement] | None = None


class NodeSelector(KubeStruct):
    node_selector_terms: list[NodeSelectorTerm] | None = None


def _check_values(operator: Operator, values: list[str]) -> None:
    match operator:
        case Operator.IN | Operator.NOT_IN if not values:
            raise ValueError(f"the operator {operator.value} needs values; add at least one")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if values:
            raise ValueError(f"the operator {operator.value} takes no values; remove them")
        case Operator.GT | Operator.LT if len(values) != 1 or whole_number(values[0]) is None:
            raise ValueError(f"the operator {operator.value} compares with one whole number; give just that")
