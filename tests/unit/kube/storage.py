"""Claims, volumes and classes as an API server would show them, and pods that use them."""

from __future__ import annotations

from typing import Any

import msgspec

from rota.kube.api.objects import CsiNode, StorageClass
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from tests.unit.kube.pods import pod

BY_HAND = "kubernetes.io/no-provisioner"


def pod_with(name: str, *claims: str, **more: Any) -> Pod:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, volumes=volumes, **more)


def claim(
    name: str,
    *,
    volume: str = "",
    storage_class: str = "fast",
    size: str = "1Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    selected: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """`volume`: bound to it, by both sides; `selected`: the node that its volume is being made for."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    if selected:
        annotations["volume.kubernetes.io/selected-node"] = selected
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "annotations": annotations,
        },
        "spec": {
            "volumeName": volume,
            "storageClassName": storage_class,
            "accessModes": modes,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }
    return msgspec.convert(body, PersistentVolumeClaim)


def volume(
    name: str,
    *,
    storage_class: str = "fast",
    size: str = "1Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    on: str = "",
    kept_for: str = "",
    phase: str = "Available",
    driver: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """`on`: the one node that it can be used on, by its label `host`."""
    here = {"matchExpressions": [{"key": "host", "operator": "In", "values": [on]}]}
    body = {
        "metadata": {"name": name, "resourceVersion": "5", "labels": labels},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": modes,
            "storageClassName": storage_class,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}} if on else None,
            "claimRef": {"namespace": "default", "name": kept_for} if kept_for else None,
            "csi": {"driver": driver, "volumeHandle": name} if driver else None,
            **spec,
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(body, PersistentVolume)


def storage_class(
    name: str, provisioner: str = BY_HAND, mode: str = "WaitForFirstConsumer", **more: Any
) -> StorageClass:
    body = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return msgspec.convert(body, StorageClass)


def csi_node(name: str, **limits: int) -> CsiNode:
    """Of drivers by the first part of their names."""
    drivers = [
        {"name": f"{driver}.example.com", "nodeID": name, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"drivers": drivers}}, CsiNode)
