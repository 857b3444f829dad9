"""Pods for our scheduler, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from rota.kube.api.client import Client, Selection
from rota.kube.api.objects import Event
from rota.kube.api.resources import EVENTS, NODES, PODS
from rota.kube.scheduling.run import KubeScheduler, KubeSchedulerOptions, default_policy, running
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from tests.real.kube.cluster import Cluster
from tests.real.kube.population import create_nodes, ready_node

PATIENCE_S = 90.0


def pod_for(
    scheduler: str,
    name: str,
    cpu: str = "1",
    *,
    gang: str = "",
    least: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """`least`: its min-available annotation, if any."""
    keys = DEFAULT_GANG_KEYS
    container = {
        "name": "main",
        "image": "example.invalid/none",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }
    return {
        "metadata": {
            "name": name,
            "labels": {**({keys.label: gang} if gang else {}), **(labels or {})},
            "annotations": {**({keys.annotation: least} if least else {}), **(annotations or {})},
        },
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


class Place:
    """A namespace, nodes of its own, and a scheduler of its own name."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.scheduler_name = f"scheduler-of-{namespace}"

    @property
    def selector(self) -> dict[str, str]:
        return {"place": self.namespace}

    async def add_nodes(self, *names: str, cpu: str = "4", **labels: str) -> list[str]:
        full = [f"{self.namespace}-{name}" for name in names]
        capacity = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
        await create_nodes(
            self.client, [ready_node(name, {**self.selector, **labels}, capacity) for name in full]
        )
        return full

    async def remove_nodes(self) -> None:
        for node in await self.client.list_all(NODES, Selection(labels=f"place={self.namespace}")):
            await self.client.delete(NODES, node.metadata.name or "")

    async def add_pod(self, name: str, cpu: str = "1", **more: Any) -> Pod:
        body = pod_for(self.scheduler_name, name, cpu, nodeSelector=self.selector, **more)
        return await self.client.create(PODS, body, self.namespace)

    async def pods(self) -> dict[str, Pod]:
        found = await self.client.list_all(PODS, Selection(self.namespace))
        return {pod.metadata.name or "": pod for pod in found}

    async def bound(self) -> dict[str, str]:
        return {name: pod.spec.node_name for name, pod in (await self.pods()).items() if pod.spec.node_name}

    async def events(self, reason: str) -> list[Event]:
        found = await self.client.list_all(EVENTS, Selection(self.namespace))
        return [one for one in found if one.reason == reason]

    async def notes(self, reason: str, pod: str) -> list[str]:
        events = await self.events(reason)
        return [one.note for one in events if one.regarding and one.regarding.name == pod]

    def options(self, **changes: Any) -> KubeSchedulerOptions:
        return KubeSchedulerOptions(
            **{"scheduler_name": self.scheduler_name, "leader_elect": False, **changes}
        )

    @asynccontextmanager
    async def scheduler(
        self, cluster: Cluster, user: str = "admin", **changes: Any
    ) -> AsyncIterator[KubeScheduler]:
        access = cluster.access(user, self.namespace)
        async with running(access, self.options(**changes), default_policy(self.scheduler_name)) as scheduler:
            await asyncio.wait_for(scheduler.synced(), PATIENCE_S)
            yield scheduler


@asynccontextmanager
async def place_in(cluster: Cluster, namespace: str) -> AsyncIterator[Place]:
    async with Client(cluster.access()) as client:
        place = Place(client, namespace)
        try:
            yield place
        finally:
            await place.remove_nodes()


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_so():
            await asyncio.sleep(0.1)


async def remains(is_so: Callable[[], Awaitable[bool]], seconds: float = 2.0) -> None:
    """What isn't to happen has time to."""
    ends_s = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < ends_s:
        assert await is_so()
        await asyncio.sleep(0.1)
