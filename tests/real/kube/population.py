"""Nodes and pods that nobody runs, many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rota.kube.api.client import Client
from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod

Labels = Mapping[str, str]

CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}


def ready_node(name: str, labels: Labels | None = None, capacity: Labels | None = None) -> dict[str, Any]:
    amounts = dict(CAPACITY if capacity is None else capacity)
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


async def create_nodes(client: Client, nodes: Iterable[dict[str, Any]]) -> list[Node]:
    """Ready for pods: the taint is taken away that nodes begin with."""

    async def create(node: dict[str, Any]) -> Node:
        await client.create(NODES, node)
        return await client.patch(NODES, node["metadata"]["name"], {"spec": {"taints": None}})

    return await asyncio.gather(*map(create, nodes))


def plain_pod(name: str, **spec: Any) -> dict[str, Any]:
    """For a scheduler that doesn't exist, so that it waits for whoever binds it."""
    container = {
        "name": "main",
        "image": "example.invalid/none",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "metadata": {"name": name, "labels": {"app": "test"}},
        "spec": {"schedulerName": "nobody", "containers": [container], **spec},
    }


async def create_pods(
    client: Client, namespace: str, count: int, pod: Callable[[str], dict[str, Any]] = plain_pod
) -> list[Pod]:
    bodies = (pod(f"pod-{number:05}") for number in range(count))
    return await asyncio.gather(*(client.create(PODS, body, namespace) for body in bodies))
