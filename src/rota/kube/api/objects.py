"""What the API speaks of beside the objects of manifests: envelopes, statuses, leases, events, requests.

Pods, nodes and the like are those of `rota.kube_objects.objects`: the same fields matter, wherever they
come from.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Raw, Struct, field

from rota.kube_objects.objects.metadata import KubeObject, KubeStruct, Quantity
from rota.kube_objects.objects.selectors import LabelSelector

T = TypeVar("T")


class ListMetadata(KubeStruct):
    resource_version: str = ""
    continue_token: str = field(default="", name="continue")


class ListAnswer(Struct, Generic[T], frozen=True):
    """Of objects, or of raw text, one by one, where some can't be read."""

    metadata: ListMetadata
    items: list[T] | None = None


class WatchFrame(Struct, frozen=True):
    """A line of a watch; what the object is, depends on the type."""

    type: str
    object: Raw


class StatusCause(KubeStruct):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(KubeStruct):
    name: str = ""
    kind: str = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int = 0


class Status(KubeStruct):
    """Why something was refused."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None
    status: str = ""
    """Success or Failure."""

    @property
    def causes(self) -> list[StatusCause]:
        return (self.details.causes if self.details else None) or []


class ObjectName(KubeStruct):
    """The metadata of what is sent: only what the sender decides."""

    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class ObjectReference(KubeStruct):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class ConfigMap(KubeObject):
    data: dict[str, str] | None = None


class Binding(KubeStruct):
    """`metadata.uid`: the pod that is meant, and no later one of that name."""

    metadata: ObjectName
    target: ObjectReference


class Preconditions(KubeStruct):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(KubeStruct):
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None


class Eviction(KubeStruct):
    metadata: ObjectName
    delete_options: DeleteOptions | None = None


class LeaseSpec(KubeStruct):
    """Times are those of whoever wrote them: shown to people, and compared only with themselves."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubeObject):
    spec: LeaseSpec | None = None


class TopologyRequirement(KubeStruct):
    key: str
    values: list[str] | None = None


class TopologyTerm(KubeStruct):
    match_label_expressions: list[TopologyRequirement] | None = None


class StorageClass(KubeObject):
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class CsiAllocatable(KubeStruct):
    count: int | None = None


class CsiNodeDriver(KubeStruct):
    name: str
    allocatable: CsiAllocatable | None = None


class CsiNodeSpec(KubeStruct):
    drivers: list[CsiNodeDriver] | None = None


class CsiNode(KubeObject):
    """What drivers have said of a node; it has the node's name."""

    spec: CsiNodeSpec | None = None


class CsiDriverSpec(KubeStruct):
    storage_capacity: bool | None = None
    """Whether it tells how much space there is where, and wants to be asked for no more."""


class CsiDriver(KubeObject):
    spec: CsiDriverSpec | None = None


class StorageCapacity(KubeObject):
    """How large a volume of a class can be on some of the nodes."""

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class AttachmentSource(KubeStruct):
    persistent_volume_name: str | None = None


class AttachmentSpec(KubeStruct):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource | None = None


class VolumeAttachment(KubeObject):
    spec: AttachmentSpec | None = None


class BudgetSpec(KubeStruct):
    selector: LabelSelector | None = None


class BudgetStatus(KubeStruct):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] | None = None
    """Those whose end is counted already, and since when."""


class DisruptionBudget(KubeObject):
    """Of policy/v1."""

    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None

    @property
    def disruptions_allowed(self) -> int:
        return self.status.disruptions_allowed if self.status else 0

    @property
    def ending(self) -> frozenset[str]:
        return frozenset((self.status and self.status.disrupted_pods) or ())


class PodGroupSpec(KubeStruct):
    min_member: int | None = None
    min_task_member: dict[str, int] | None = None
    """Only Volcano's have it: so many pods of each of its tasks."""


class PodGroup(KubeObject):
    """Of scheduling.x-k8s.io/v1alpha1, or of scheduling.volcano.sh/v1beta1."""

    spec: PodGroupSpec | None = None


class EventSeries(KubeStruct):
    count: int
    last_observed_time: str


class Event(KubeObject):
    """Of events.k8s.io/v1: what `kubectl describe` shows below an object."""

    event_time: str = ""
    type: str = ""
    reason: str = ""
    note: str = ""
    action: str = ""
    reporting_controller: str = ""
    reporting_instance: str = ""
    regarding: ObjectReference | None = None
    related: ObjectReference | None = None
    series: EventSeries | None = None
