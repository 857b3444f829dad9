"""PodGroups of scheduler-plugins and of Volcano on a real API server, with definitions of our own writing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from rota.kube.api.client import Client
from rota.kube.api.credentials import Credentials
from rota.kube.api.errors import AlreadyExists, Conflict, NotFound
from rota.kube.api.objects import PodGroup
from rota.kube.api.resources import PLUGIN_GROUPS, VOLCANO_GROUPS, Resource
from rota.kube.scheduling.run import default_policy, running
from rota.kube_objects.objects.metadata import KubeObject
from tests.real.kube.conftest import created_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.expecting import bound_are, told
from tests.real.kube.manifests import NAME, NAMESPACE, apply, new_token, read_manifest
from tests.real.kube.pods import PATIENCE_S, Place, eventually, place_in, remains

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-2")]

DEFINITIONS: Resource[KubeObject] = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", KubeObject, is_namespaced=False
)


def definition(resource: Resource[PodGroup]) -> dict[str, Any]:
    """Of any content: what is in it is the business of whoever reads it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{resource.name}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {"kind": "PodGroup", "plural": resource.name, "singular": "podgroup"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


async def define(client: Client, resource: Resource[PodGroup]) -> None:
    """Returns once the API server serves it."""
    with suppress(AlreadyExists):
        await client.create(DEFINITIONS, definition(resource))

    async def is_served() -> bool:
        with suppress(NotFound):
            await client.list_all(resource)
            return True
        return False

    await eventually(is_served)


async def undefine(client: Client, resource: Resource[PodGroup]) -> None:
    with suppress(NotFound):
        await client.delete(DEFINITIONS, f"{resource.name}.{resource.group}")

    async def is_gone() -> bool:
        with suppress(NotFound):
            await client.list_all(resource)
            return False
        return True

    await eventually(is_gone)


async def add_group(place: Place, resource: Resource[PodGroup], name: str, **spec: Any) -> None:
    version = f"{resource.group}/{resource.version}"
    anything: Resource[KubeObject] = Resource(resource.group, resource.version, resource.name, KubeObject)
    body = {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}

    async def is_made() -> bool:
        # Right after it was defined, an API server may say that it begins only now.
        with suppress(Conflict, NotFound):
            await place.client.create(anything, body, place.namespace)
            return True
        return False

    await eventually(is_made)


async def add_annotated_pod(place: Place, name: str, role: str, cpu: str = "1") -> None:
    """As Volcano's job controller makes it."""
    keys = {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": role, "volcano.sh/job-name": "j"}
    await place.add_pod(name, cpu=cpu, annotations=keys)


@asynccontextmanager
async def place_of(breakable: ControlPlane, *resources: Resource[PodGroup]) -> AsyncIterator[Place]:
    cluster = breakable.cluster
    namespace = await created_namespace(cluster)
    async with place_in(cluster, namespace) as place:
        for resource in resources:
            await define(place.client, resource)
        yield place


async def test_definitions_and_groups_may_come_after_the_pods(breakable: ControlPlane) -> None:
    async with place_of(breakable) as place:
        await undefine(place.client, PLUGIN_GROUPS)
        await place.add_nodes("a", cpu="4")
        async with place.scheduler(breakable.cluster):
            for name in ("p0", "p1"):
                await place.add_pod(name, labels={"scheduling.x-k8s.io/pod-group": "g"})
            await place.add_pod("alone")
            await eventually(bound_are(place, "alone"))
            await eventually(
                told(place, "FailedScheduling", "p0", "no podgroups.scheduling.x-k8s.io/g in its namespace")
            )
            await define(place.client, PLUGIN_GROUPS)
            await add_group(place, PLUGIN_GROUPS, "g", minMember=3, scheduleTimeoutSeconds=10)
            await eventually(told(place, "FailedScheduling", "p0", "2 of 3 pods present"))
            await remains(bound_are(place, "alone"))
            await place.add_pod("p2", labels={"scheduling.x-k8s.io/pod-group": "g"})
            await eventually(bound_are(place, "alone", "p0", "p1", "p2"))


async def test_so_many_of_each_task_of_a_volcano_job(breakable: ControlPlane) -> None:
    async with place_of(breakable, VOLCANO_GROUPS) as place:
        await place.add_nodes("a", cpu="3")
        await add_group(
            place, VOLCANO_GROUPS, "g", minMember=3, minTaskMember={"ps": 1, "worker": 2}, queue="default"
        )
        async with place.scheduler(breakable.cluster):
            for number in range(4):
                await add_annotated_pod(place, f"w{number}", "worker")
            await eventually(told(place, "FailedScheduling", "w0", "0 of 1 ps pods present"))
            await remains(bound_are(place))
            await add_annotated_pod(place, "z-ps", "ps", cpu="2")
            # The workers alone would fit.
            await eventually(told(place, "FailedScheduling", "z-ps", "0/"))
            await remains(bound_are(place))
            await place.add_nodes("b", cpu="1")
            await eventually(bound_are(place, "z-ps", "w0", "w1"))
            await place.add_nodes("c", cpu="4")
            await eventually(bound_are(place, "z-ps", "w0", "w1", "w2", "w3"))


@pytest.mark.covers("kube-7")
async def test_a_group_that_cant_be_used_is_told_on_its_pods(breakable: ControlPlane) -> None:
    async with place_of(breakable, PLUGIN_GROUPS) as place:
        await place.add_nodes("a", cpu="4")
        await add_group(place, PLUGIN_GROUPS, "words", minMember="three")
        await add_group(place, PLUGIN_GROUPS, "less", minMember=-1)
        async with place.scheduler(breakable.cluster):
            for group in ("words", "less"):
                await place.add_pod(group, labels={"scheduling.x-k8s.io/pod-group": group})
            await place.add_pod("alone")
            await eventually(bound_are(place, "alone"))
            await eventually(told(place, "FailedScheduling", "less", "its minMember is -1"))
            await eventually(told(place, "FailedScheduling", "words", "can't be used: Expected `int"))
            await remains(bound_are(place, "alone"))


@pytest.mark.covers("kube-8")
async def test_the_role_that_is_given_away_is_enough(breakable: ControlPlane) -> None:
    async with place_of(breakable, PLUGIN_GROUPS, VOLCANO_GROUPS) as place:
        await apply(place.client, read_manifest())
        access = breakable.cluster.access_with(Credentials(await new_token(place.client)), NAMESPACE)
        place.scheduler_name = NAME
        await place.add_nodes("a", cpu="2")
        await add_group(place, PLUGIN_GROUPS, "g", minMember=1)
        await add_group(place, VOLCANO_GROUPS, "g", minMember=1)
        await place.add_pod("p", labels={"scheduling.x-k8s.io/pod-group": "g"})
        await add_annotated_pod(place, "q", "worker")
        async with running(access, place.options(), default_policy(NAME)) as scheduler:
            await asyncio.wait_for(scheduler.synced(), PATIENCE_S)
            await eventually(bound_are(place, "p", "q"))
