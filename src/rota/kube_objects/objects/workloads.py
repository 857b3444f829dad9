"""What pods come from or belong to: jobs and priority classes."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from rota.kube_objects.objects.metadata import Condition, KubeObject, KubeStruct, Priority
from rota.kube_objects.objects.pods import PodTemplate

PodCount: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]


class JobSpec(KubeStruct):
    template: PodTemplate
    parallelism: PodCount | None = None
    completions: PodCount | None = None
    completion_mode: str | None = None
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
