"""A real API server with nodes that nobody runs, pods that wait on it, and when each of them is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from rota.kube.api.client import Client, Selection
from rota.kube.api.errors import NotFound
from rota.kube.api.informer import Informer
from rota.kube.api.resources import NAMESPACES, PODS, Resource
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.population import create_nodes, ready_node

ZONE = "topology.kubernetes.io/zone"
ZONES = 10
PATIENCE_S = 900.0
_AT_ONCE = 200


class BoundSpec(KubeStruct):
    node_name: str = ""


class BoundPod(KubeObject):
    """Of a pod only where it is: whoever measures is to take little of the machine."""

    spec: BoundSpec


BOUND = Resource("", "v1", "pods", BoundPod)


class Stage:
    """Of one API server, for all that are compared."""

    def __init__(self, plane: ControlPlane, client: Client) -> None:
        self.plane = plane
        self.client = client
        self._nodes = 0
        self._namespaces = 0

    async def has_nodes(self, count: int) -> None:
        missing = range(self._nodes, count)
        for some in _chunks(missing, _AT_ONCE):
            await create_nodes(self.client, [_node(number) for number in some])
        self._nodes = max(self._nodes, count)

    @asynccontextmanager
    async def crowd(self, pods: Iterable[dict[str, Any]]) -> AsyncIterator[Crowd]:
        """In a namespace of their own; they are gone afterwards."""
        self._namespaces += 1
        namespace = f"run-{self._namespaces}"
        await self.client.create(NAMESPACES, {"metadata": {"name": namespace}})
        crowd = Crowd(self.client, namespace)
        watching = asyncio.create_task(crowd.watch())
        try:
            await crowd.add_all(pods)
            yield crowd
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await crowd.remove_all()


class Crowd:
    def __init__(self, client: Client, namespace: str) -> None:
        self.namespace = namespace
        self.bound_s: dict[str, float] = {}
        """When each was first seen on a node."""
        self.names: list[str] = []
        self._client = client
        self._changed = asyncio.Event()

    async def add_all(self, pods: Iterable[dict[str, Any]]) -> None:
        for some in _chunks(pods, _AT_ONCE):
            await asyncio.gather(*map(self.add, some))

    async def add(self, pod: dict[str, Any]) -> None:
        self.names.append(pod["metadata"]["name"])
        await self._client.create(BOUND, pod, self.namespace)

    async def remove(self, name: str) -> None:
        with suppress(NotFound):
            await self._client.delete(PODS, name, self.namespace, grace_s=0)

    async def remove_all(self) -> None:
        for some in _chunks(self.names, _AT_ONCE):
            await asyncio.gather(*map(self.remove, some))

    async def watch(self) -> None:
        informer = Informer(self._client, BOUND, Selection(self.namespace))
        informer.subscribe(self._seen)
        await informer.run()

    def _seen(self, old: BoundPod | None, new: BoundPod | None) -> None:
        if new is not None and new.spec.node_name:
            self.bound_s.setdefault(new.metadata.name or "", monotonic())
            self._changed.set()

    async def all_bound(self, names: Iterable[str]) -> float:
        """When the last of them was."""
        wanted = set(names)
        async with asyncio.timeout(PATIENCE_S):
            while not wanted <= self.bound_s.keys():
                self._changed.clear()
                await self._changed.wait()
        return max(self.bound_s[name] for name in wanted)


def _node(number: int) -> dict[str, Any]:
    return ready_node(f"node-{number:05}", {ZONE: f"zone-{number % ZONES}"})


def _chunks(items: Iterable[Any], size: int) -> Iterable[list[Any]]:
    some: list[Any] = []
    for item in items:
        some.append(item)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
