"""Pods: what they need, and what became of them."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from rota.kube_objects.objects.affinity import Affinity, Toleration, TopologySpreadConstraint
from rota.kube_objects.objects.metadata import (
    Condition,
    KubeObject,
    KubeStruct,
    Metadata,
    Priority,
    ResourceList,
    ResourceRequirements,
    Timestamp,
)
from rota.kube_objects.objects.volumes import Volume

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]


class ContainerPort(KubeStruct):
    container_port: Port
    host_port: Port | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: Literal["TCP", "UDP", "SCTP"] | None = None


class Container(KubeStruct):
    name: str | None = None
    image: str | None = None
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None

    @property
    def is_sidecar(self) -> bool:
        """Of an init container: it goes on running beside the others."""
        return self.restart_policy == "Always"


class SchedulingGate(KubeStruct):
    name: str


class PodResourceClaim(KubeStruct):
    """Of devices that a driver hands out."""

    name: str


class PodNeeds(KubeStruct):
    """The part of a pod's spec that equal pods have in common, and that says where they can run."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: ResourceList | None = None
    host_network: bool | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    tolerations: list[Toleration] | None = None
    runtime_class_name: str | None = None


class PodSpec(PodNeeds):
    node_name: str | None = None
    volumes: list[Volume] | None = None
    priority: Priority | None = None
    priority_class_name: str | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    active_deadline_seconds: Annotated[int, Meta(ge=1, lt=2**31)] | None = None


class ContainerStatus(KubeStruct):
    name: str | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodStatus(KubeStruct):
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown", ""] | None = None
    start_time: Timestamp | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(KubeObject):
    spec: PodSpec
    status: PodStatus | None = None


class PodTemplate(KubeStruct):
    spec: PodSpec
    metadata: Metadata | None = None
