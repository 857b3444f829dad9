"""Which kinds of objects make pods, and which function knows how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rota.kube_objects.controllers.batch import of_cron_job, of_job, of_job_set
from rota.kube_objects.controllers.daemons import of_daemon_set
from rota.kube_objects.controllers.groups import (
    of_leader_worker_set,
    of_volcano_cron_job,
    of_volcano_job,
    of_workload,
)
from rota.kube_objects.controllers.replicas import of_bare_template, of_replicas, of_stateful_set
from rota.kube_objects.controllers.to_come import PodsToCome, Surroundings
from rota.kube_objects.objects.controllers import (
    BarePodTemplate,
    CronJob,
    DaemonSet,
    Deployment,
    JobSet,
    LeaderWorkerSet,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    VolcanoCronJob,
    VolcanoJob,
    Workload,
)
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.workloads import Job

CONTROLLERS: Mapping[type[KubeObject], Callable[[Any, Surroundings], Iterator[PodsToCome]]] = {
    Deployment: of_replicas,
    ReplicaSet: of_replicas,
    ReplicationController: of_replicas,
    StatefulSet: of_stateful_set,
    DaemonSet: of_daemon_set,
    Job: of_job,
    CronJob: of_cron_job,
    BarePodTemplate: of_bare_template,
    VolcanoJob: of_volcano_job,
    VolcanoCronJob: of_volcano_cron_job,
    Workload: of_workload,
    JobSet: of_job_set,
    LeaderWorkerSet: of_leader_worker_set,
}


def pods_to_come(found: KubeObject, around: Surroundings) -> Iterator[PodsToCome]:
    """FieldError: it asks for more than can be made."""
    return (made for made in CONTROLLERS[type(found)](found, around) if made.count)
