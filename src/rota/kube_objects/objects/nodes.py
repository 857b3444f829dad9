"""Nodes: what they have, and their taints."""

from rota.kube_objects.objects.metadata import (
    Condition,
    KubeObject,
    KubeStruct,
    NonEmpty,
    ResourceList,
    Timestamp,
)
from rota.model.taints import Effect


class Taint(KubeStruct):
    key: NonEmpty
    effect: Effect
    value: str | None = None
    time_added: Timestamp | None = None


class NodeSpec(KubeStruct):
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class Image(KubeStruct):
    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatus(KubeStruct):
    allocatable: ResourceList | None = None
    capacity: ResourceList | None = None
    conditions: list[Condition] | None = None
    images: list[Image] | None = None


class Node(KubeObject):
    spec: NodeSpec | None = None
    status: NodeStatus | None = None
