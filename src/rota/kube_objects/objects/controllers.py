"""Objects of Kubernetes and its neighbours that make pods, besides Jobs: as far as it matters which."""

from __future__ import annotations

from rota.kube_objects.objects.metadata import Condition, KubeObject, KubeStruct, Metadata
from rota.kube_objects.objects.pods import PodTemplate
from rota.kube_objects.objects.workloads import JobSpec, PodCount

# -- Kubernetes' own


class ReplicasSpec(KubeStruct):
    template: PodTemplate
    replicas: PodCount | None = None
    paused: bool | None = None


class Deployment(KubeObject):
    spec: ReplicasSpec


class ReplicaSet(KubeObject):
    spec: ReplicasSpec


class ReplicationController(KubeObject):
    spec: ReplicasSpec


class Ordinals(KubeStruct):
    start: PodCount | None = None


class ClaimTemplate(KubeStruct):
    metadata: Metadata


class StatefulSetSpec(KubeStruct):
    template: PodTemplate
    replicas: PodCount | None = None
    ordinals: Ordinals | None = None
    volume_claim_templates: list[ClaimTemplate] | None = None


class StatefulSet(KubeObject):
    spec: StatefulSetSpec


class DaemonSetSpec(KubeStruct):
    template: PodTemplate


class DaemonSet(KubeObject):
    spec: DaemonSetSpec


class JobTemplate(KubeStruct):
    spec: JobSpec
    metadata: Metadata | None = None


class CronJobSpec(KubeStruct):
    job_template: JobTemplate
    suspend: bool | None = None


class CronJob(KubeObject):
    spec: CronJobSpec


class BarePodTemplate(KubeObject):
    template: PodTemplate


# -- Volcano


class VolcanoTask(KubeStruct):
    template: PodTemplate
    name: str | None = None
    replicas: PodCount | None = None


class VolcanoJobSpec(KubeStruct):
    tasks: list[VolcanoTask] | None = None
    min_available: PodCount | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    scheduler_name: str | None = None


class VolcanoState(KubeStruct):
    phase: str | None = None


class VolcanoJobStatus(KubeStruct):
    state: VolcanoState | None = None


class VolcanoJob(KubeObject):
    spec: VolcanoJobSpec
    status: VolcanoJobStatus | None = None


class VolcanoJobTemplate(KubeStruct):
    spec: VolcanoJobSpec


class VolcanoCronJobSpec(KubeStruct):
    job_template: VolcanoJobTemplate
    suspend: bool | None = None


class VolcanoCronJob(KubeObject):
    spec: VolcanoCronJobSpec


# -- Kueue


class WorkloadPodSet(KubeStruct):
    template: PodTemplate
    name: str | None = None
    count: PodCount | None = None
    min_count: PodCount | None = None


class WorkloadSpec(KubeStruct):
    pod_sets: list[WorkloadPodSet] | None = None
    active: bool | None = None


class WorkloadStatus(KubeStruct):
    conditions: list[Condition] | None = None


class Workload(KubeObject):
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


# -- JobSet


class ReplicatedJob(KubeStruct):
    template: JobTemplate
    name: str | None = None
    replicas: PodCount | None = None


class JobSetSpec(KubeStruct):
    replicated_jobs: list[ReplicatedJob] | None = None
    suspend: bool | None = None


class JobSetStatus(KubeStruct):
    conditions: list[Condition] | None = None


class JobSet(KubeObject):
    spec: JobSetSpec
    status: JobSetStatus | None = None


# -- LeaderWorkerSet


class LeaderWorkerTemplate(KubeStruct):
    worker_template: PodTemplate
    leader_template: PodTemplate | None = None
    size: PodCount | None = None


class LeaderWorkerSetSpec(KubeStruct):
    leader_worker_template: LeaderWorkerTemplate
    replicas: PodCount | None = None


class LeaderWorkerSet(KubeObject):
    spec: LeaderWorkerSetSpec


Controller = (
    Deployment
    | ReplicaSet
    | ReplicationController
    | StatefulSet
    | DaemonSet
    | CronJob
    | BarePodTemplate
    | VolcanoJob
    | VolcanoCronJob
    | Workload
    | JobSet
    | LeaderWorkerSet
)
