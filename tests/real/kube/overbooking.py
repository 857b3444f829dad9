"""Running pods that fit on their nodes: of those that don't, the later ones are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rota.kube_objects.objects.metadata import ResourceList
from rota.kube_objects.resources import read_amounts

if TYPE_CHECKING:
    from tests.real.kube.random_cluster import RandomPod

_OVERHEAD: ResourceList = {"cpu": "250m"}


def within_capacity(nodes: Iterable[dict[str, Any]], running: Sequence[RandomPod]) -> list[RandomPod]:
    left = {
        node["metadata"]["name"]: Counter(read_amounts(node["status"]["allocatable"], ())) for node in nodes
    }
    staying = []
    for pod in running:
        needed, free = _most(pod.body["spec"]), left[pod.body["spec"]["nodeName"]]
        if all(free[name] >= amount for name, amount in needed.items()):
            free.subtract(needed)
            staying.append(pod)
    return staying


def _most(spec: dict[str, Any]) -> Counter[str]:
    """At least what the pod holds, however a release adds it up."""
    total: Counter[str] = Counter({"pods": 1})
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        total.update(read_amounts(container["resources"]["requests"], ()))
    if "runtimeClassName" in spec:
        total.update(read_amounts(_OVERHEAD, ()))
    return total
