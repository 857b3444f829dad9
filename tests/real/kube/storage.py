"""Claims and volumes, classes and the like on a real API server, made for a while."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TypeVar

from msgspec import Struct, json

from rota.kube.api.client import Client
from rota.kube.api.errors import NotFound
from rota.kube.api.resources import CLAIMS, VOLUMES, Resource
from rota.kube.volumes.matching import is_bound
from rota.kube_objects.objects.metadata import KubeObject
from tests.real.kube.control_plane import release
from tests.real.kube.random_volumes import Storage

T = TypeVar("T", bound=KubeObject)
Made = TypeVar("Made", bound=Struct)

RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", KubeObject, is_namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", KubeObject, is_namespaced=False)


def numbered(found: Made, number: int) -> Made:
    """A copy of it for the time of that number."""
    text = json.encode(found).replace(b"@", f"-{number}".encode())
    return json.decode(text, type=type(found))


def binds_volumes() -> tuple[str, str]:
    """For the controller manager: what it has missed at first it looks at soon."""
    name = "persistentvolume-binder" if release() < (1, 28) else "persistentvolume-binder-controller"
    return f"--controllers={name}", "--pvclaimbinder-sync-period=500ms"


async def create_storage(client: Client, storage: Storage, namespace: str) -> None:
    """The controller of the cluster binds what belongs together."""
    for body in storage.volumes:
        volume = deepcopy(body)
        if "claimRef" in volume["spec"]:
            volume["spec"]["claimRef"]["namespace"] = namespace
        await client.create(VOLUMES, volume)
    for body in storage.volumes:
        await _until_seen(client, body["metadata"]["name"])
    for claim in storage.claims:
        await client.create(CLAIMS, claim, namespace)
    for claim in storage.claims:
        if claim["spec"]["volumeName"]:
            await _until_bound(client, claim["metadata"]["name"], namespace)


async def remove_storage(client: Client, storage: Storage, namespace: str) -> None:
    for claim in storage.claims:
        await _remove(client, CLAIMS, claim["metadata"]["name"], namespace)
    for volume in storage.volumes:
        await _remove(client, VOLUMES, volume["metadata"]["name"])


async def _until_bound(client: Client, name: str, namespace: str) -> None:
    while not is_bound(await client.get(CLAIMS, name, namespace)):
        await asyncio.sleep(0.02)


async def _until_seen(client: Client, name: str) -> None:
    """By the controller, who says that it is available."""
    while True:
        volume = await client.get(VOLUMES, name)
        if volume.status is not None and volume.status.phase in ("Available", "Bound"):
            return
        await asyncio.sleep(0.02)


async def _remove(client: Client, resource: Resource[T], name: str, namespace: str = "") -> None:
    """At once: nobody is there who would see to it that it isn't in use any more."""
    try:
        await client.delete(resource, name, namespace)
        await client.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
    except NotFound:
        pass
