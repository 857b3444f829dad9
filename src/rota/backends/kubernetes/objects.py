"""Pods as this backend reads them: what became of each container. And the resources that it writes."""

from __future__ import annotations

from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct, Timestamp


class Waiting(KubeStruct):
    reason: str | None = None
    message: str | None = None


class Running(KubeStruct):
    started_at: Timestamp | None = None


class Terminated(KubeStruct):
    exit_code: int = 0
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None


class ContainerState(KubeStruct):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(KubeStruct):
    name: str = ""
    image: str = ""
    state: ContainerState | None = None
    restart_count: int = 0
    started: bool | None = None


class SchedulingGate(KubeStruct):
    name: str = ""


class JobPodSpec(KubeStruct):
    node_name: str | None = None
    scheduling_gates: list[SchedulingGate] | None = None


class JobPodStatus(KubeStruct):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    container_statuses: list[ContainerStatus] | None = None


class JobPod(KubeObject):
    spec: JobPodSpec
    status: JobPodStatus | None = None

    def state(self, container: str) -> ContainerState:
        status = self.status or JobPodStatus()
        for one in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
            if one.name == container:
                return one.state or ContainerState()
        return ContainerState()

    @property
    def is_terminal(self) -> bool:
        """None of its containers runs any more."""
        return self.status is not None and self.status.phase in ("Succeeded", "Failed")


class SecretObject(KubeObject):
    data: dict[str, str] | None = None


JOB_PODS = Resource("", "v1", "pods", JobPod)
SECRETS = Resource("", "v1", "secrets", SecretObject)
SERVICES = Resource("", "v1", "services", KubeObject)
POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", KubeObject)
TOOL_CACHES = Resource("", "v1", "persistentvolumeclaims", KubeObject)
