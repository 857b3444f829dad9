"""Running pods that get along on their nodes: a kubelet would have refused the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rota.kube_objects.objects.metadata import ResourceList
from rota.kube_objects.resources import read_amounts

if TYPE_CHECKING:
    from tests.real.kube.random_cluster import RandomPod

_OVERHEAD: ResourceList = {"cpu": "250m"}


def part_ports(running: Iterable[RandomPod]) -> None:
    """Of pods with the same host port on one node, the first keeps it. To kube-scheduler it would be free
    without any one of them, and so it would be as if one of them had gone."""
    taken: set[tuple[str, int, str]] = set()
    for pod in running:
        spec = pod.body["spec"]
        ports = spec["containers"][0].get("ports", ())
        wanted = {
            (spec["nodeName"], one.get("hostPort") or one["containerPort"], one.get("protocol", "TCP"))
            for one in ports
        }
        if wanted & taken and not pod.phase:
            del spec["containers"][0]["ports"]
            spec.pop("hostNetwork", None)
        elif not pod.phase:
            taken |= wanted


def within_capacity(nodes: Iterable[dict[str, Any]], running: Sequence[RandomPod]) -> list[RandomPod]:
    """Without those that have no room, the later ones first."""
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
