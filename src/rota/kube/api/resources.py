"""The resources of the API that are asked for, and where each is."""

from __future__ import annotations

from typing import Generic, TypeVar
from urllib.parse import quote

from msgspec import Struct

from rota.kube.api.objects import (
    ConfigMap,
    CsiDriver,
    CsiNode,
    DisruptionBudget,
    Event,
    Lease,
    PodGroup,
    StorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from rota.kube_objects.objects.metadata import KubeObject, Namespace
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.objects.workloads import PriorityClass

T = TypeVar("T", bound=KubeObject)


class Resource(Struct, Generic[T], frozen=True):
    group: str
    """Empty: the core of Kubernetes."""
    version: str
    name: str
    type: type[T]
    is_namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """`namespace` empty: all of them."""
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if namespace and self.is_namespaced:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.name)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


PODS = Resource("", "v1", "pods", Pod)
NODES = Resource("", "v1", "nodes", Node, is_namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", Namespace, is_namespaced=False)
VOLUMES = Resource("", "v1", "persistentvolumes", PersistentVolume, is_namespaced=False)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", PersistentVolumeClaim)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", StorageClass, is_namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", CsiNode, is_namespaced=False)
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", CsiDriver, is_namespaced=False)
STORAGE_CAPACITIES = Resource("storage.k8s.io", "v1", "csistoragecapacities", StorageCapacity)
ATTACHMENTS = Resource("storage.k8s.io", "v1", "volumeattachments", VolumeAttachment, is_namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", PriorityClass, is_namespaced=False)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", DisruptionBudget)
CONFIG_MAPS = Resource("", "v1", "configmaps", ConfigMap)
LEASES = Resource("coordination.k8s.io", "v1", "leases", Lease)
EVENTS = Resource("events.k8s.io", "v1", "events", Event)
PLUGIN_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", PodGroup)
"""Of the scheduler plugins of Kubernetes' SIG Scheduling; not every cluster has them, or the next."""
VOLCANO_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", PodGroup)
