"""Where pods may run, and where they would rather: affinity, spread, tolerations."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from rota.kube_objects.objects.metadata import KubeStruct, NonEmpty
from rota.kube_objects.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]


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
