"""Volumes of single nodes, of a class by the name of their namespace, and pods that use them."""

from __future__ import annotations

from typing import Any

from rota.kube.api.resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from tests.real.kube.pods import Place


async def add_class(place: Place) -> None:
    body = {
        "metadata": {"name": place.namespace},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await place.client.create(STORAGE_CLASSES, body)


async def add_volume(
    place: Place, name: str, node: str, size: str = "1Gi", mode: str = "ReadWriteOnce"
) -> str:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    full = f"{place.namespace}-{name}"
    spec = {
        "capacity": {"storage": size},
        "accessModes": [mode],
        "storageClassName": place.namespace,
        "local": {"path": "/none"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    await place.client.create(VOLUMES, {"metadata": {"name": full}, "spec": spec})
    return full


async def add_claim(place: Place, name: str, mode: str = "ReadWriteOnce") -> None:
    spec = {
        "accessModes": [mode],
        "storageClassName": place.namespace,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await place.client.create(CLAIMS, {"metadata": {"name": name}, "spec": spec}, place.namespace)


def using(claim: str) -> list[dict[str, Any]]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
