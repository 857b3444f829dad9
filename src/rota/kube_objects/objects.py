"""Kubernetes objects, as far as scheduling looks at them.

Unlike in Rota's own formats fields that aren't here are ignored: objects from a cluster are full of them. All
but what Kubernetes itself requires may be missing or null, as its API has it.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field

from rota.model.selectors import Operator, whole_number
from rota.model.taints import Effect

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]
Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
NonEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
Priority: TypeAlias = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
PodCount: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]


class KubeStruct(Struct, rename="camel", omit_defaults=True, gc=False):
    """To be read only. Without cycles, and many: nothing for the garbage collector to look at."""


class OwnerReference(KubeStruct):
    kind: str
    name: str
    uid: str | None = None


class Metadata(KubeStruct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, Any] | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    owner_references: list[OwnerReference] | None = None
    resource_version: str | None = None


class KubeObject(KubeStruct):
    metadata: Metadata


class Condition(KubeStruct):
    type: str
    status: str | None = None
    reason: str | None = None


# Selectors


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


# Nodes


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


# Pods


class ResourceRequirements(KubeStruct):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


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


class PreferredNodeTerm(KubeStruct):
    weight: Weight
    preference: NodeSelectorTerm


class NodeAffinity(KubeStruct):
    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredNodeTerm] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(KubeStruct):
    topology_key: NonEmpty
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(KubeStruct):
    weight: Weight
    pod_affinity_term: PodAffinityTerm


class PodAffinity(KubeStruct):
    required: list[PodAffinityTerm] | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodAffinityTerm] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(KubeStruct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(KubeStruct):
    topology_key: NonEmpty
    max_skew: Annotated[int, Meta(ge=1)]
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    min_domains: Annotated[int, Meta(ge=1)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None


class Toleration(KubeStruct):
    key: str | None = None
    operator: Literal["Equal", "Exists", ""] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] | None = None
    toleration_seconds: int | None = None

    def __post_init__(self) -> None:
        if not self.key and self.operator != "Exists":
            raise ValueError("a toleration without a key tolerates every taint; give it the operator Exists")
        if self.operator == "Exists" and self.value:
            raise ValueError("the operator Exists takes no value; remove it or use Equal")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            raise ValueError("tolerationSeconds is for the effect NoExecute only; set that or remove it")


class ClaimVolume(KubeStruct):
    claim_name: NonEmpty


class EphemeralVolume(KubeStruct):
    pass


class GceDisk(KubeStruct):
    pd_name: str = ""
    read_only: bool | None = None


class AwsDisk(KubeStruct):
    volume_id: str = field(default="", name="volumeID")


class IscsiDisk(KubeStruct):
    iqn: str = ""
    read_only: bool | None = None


class RbdImage(KubeStruct):
    monitors: list[str] | None = None
    image: str = ""
    pool: str | None = None
    read_only: bool | None = None


class Volume(KubeStruct):
    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdImage | None = None


class SchedulingGate(KubeStruct):
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


# The rest


class JobSpec(KubeStruct):
    template: PodTemplate
    parallelism: PodCount | None = None
    completions: PodCount | None = None
    suspend: bool | None = None


class JobStatus(KubeStruct):
    succeeded: PodCount | None = None
    conditions: list[Condition] | None = None


class Job(KubeObject):
    spec: JobSpec
    status: JobStatus | None = None


class PriorityClass(KubeObject):
    value: Priority
    global_default: bool | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None


class Namespace(KubeObject):
    pass


class ClaimSpec(KubeStruct):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    resources: ResourceRequirements | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class VolumePhase(KubeStruct):
    phase: str | None = None


class PersistentVolumeClaim(KubeObject):
    spec: ClaimSpec | None = None
    status: VolumePhase | None = None


class VolumeNodeAffinity(KubeStruct):
    required: NodeSelector | None = None


class ClaimReference(KubeStruct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class CsiVolume(KubeStruct):
    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(KubeStruct):
    node_affinity: VolumeNodeAffinity | None = None
    capacity: ResourceList | None = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    claim_ref: ClaimReference | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    csi: CsiVolume | None = None


class PersistentVolume(KubeObject):
    spec: VolumeSpec | None = None
    status: VolumePhase | None = None
