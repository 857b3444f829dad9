"""Our scheduler beside kube-scheduler, pod by pod on the same random cluster.

`python -m tests.real.kube.differential --clusters 300 --first-seed 1`

Of each pod both must say the same: that it can be scheduled, or why each node refuses it, with the same
numbers. Where ours goes, kube-scheduler would let it go.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from typing import Any

import msgspec

from rota.kube.api.client import Client
from rota.kube.api.errors import NotFound
from rota.kube.api.resources import (
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    Resource,
)
from rota.kube.volumes.matching import SELECTED_NODE
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.pods import Place
from tests.real.kube.random_cluster import (
    HEAVY_RUNTIME,
    PRIORITIES,
    RandomCluster,
    RandomPod,
    only_on,
    random_cluster,
)
from tests.real.kube.random_rules import NAMESPACES as OTHER_NAMESPACES
from tests.real.kube.random_volumes import CLASSES, SPACE_DRIVER, SPACIOUS, ZONAL, shared_storage
from tests.real.kube.storage import (
    BINDS_VOLUMES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    create_storage,
    numbered,
    remove_storage,
)

PATIENCE_S = 60.0
HEARD_S = 2.0
LOOKED_EVERY_S = 0.01
NOMINATED_S = 5.0
THEIRS = "default-scheduler"
_NO_HELP = "Preemption is not helpful"


class SaidCondition(KubeStruct):
    type: str
    status: str = ""
    message: str = ""


class SaidStatus(KubeStruct):
    nominated_node_name: str = ""
    conditions: list[SaidCondition] | None = None


class SaidSpec(KubeStruct):
    node_name: str = ""


class SaidPod(KubeObject):
    """A pod, with what its scheduler says of it."""

    spec: SaidSpec
    status: SaidStatus | None = None


SAID = Resource("", "v1", "pods", SaidPod)


class Answer(msgspec.Struct, frozen=True):
    node: str = ""
    refusals: tuple[str, ...] = ()
    has_made_room: bool = False
    """By the end of pods of lower priority."""


class Differential:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = place.client
        self._running: list[RandomPod] = []
        self._asked = 0

    async def prepare(self) -> None:
        """What all clusters have in common."""
        for name, labels in OTHER_NAMESPACES.items():
            await self._client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        for storage_class in CLASSES:
            await self._client.create(STORAGE_CLASSES, storage_class)
        await self._client.create(RUNTIME_CLASSES, HEAVY_RUNTIME)
        for name, value in PRIORITIES.items():
            await self._client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        driver = {"metadata": {"name": SPACE_DRIVER}, "spec": {"storageCapacity": True}}
        await self._client.create(CSI_DRIVERS, driver)
        await create_storage(self._client, shared_storage(), self._place.namespace)

    async def differences(self, seed: int) -> list[str]:
        cluster = random_cluster(seed)
        await asyncio.gather(*map(self._add_node, cluster.nodes))
        for csi_node in cluster.limits:
            await self._client.create(CSI_NODES, csi_node)
        for capacity in cluster.spaces:
            await self._client.create(STORAGE_CAPACITIES, capacity, self._place.namespace)
        self._running = [numbered(pod, 0) for pod in cluster.running]
        for pod in self._running:
            await create_storage(self._client, pod.storage, self._place.namespace)
            await self._run(pod)
        try:
            return [text for pod in cluster.pods if (text := await self._difference(seed, pod))]
        finally:
            await self._remove(cluster)

    async def _run(self, pod: RandomPod) -> None:
        namespace = self._namespace_of(pod)
        await self._client.create(PODS, pod.body, namespace)
        if pod.phase:
            await self._client.patch_status(PODS, pod.name, {"status": {"phase": pod.phase}}, namespace)
        if pod.is_ending:
            await self._client.delete(PODS, pod.name, namespace)

    def _namespace_of(self, pod: RandomPod) -> str:
        return pod.namespace or self._place.namespace

    async def _remove(self, cluster: RandomCluster) -> None:
        for pod in self._running:
            if pod.is_ending:
                free = {"metadata": {"finalizers": None}}
                await self._client.patch(PODS, pod.name, free, self._namespace_of(pod))
            await self._delete_pod(pod.name, self._namespace_of(pod))
            await remove_storage(self._client, pod.storage, self._place.namespace)
        for csi_node in cluster.limits:
            await self._client.delete(CSI_NODES, csi_node["metadata"]["name"])
        for capacity in cluster.spaces:
            name = capacity["metadata"]["name"]
            await self._client.delete(STORAGE_CAPACITIES, name, self._place.namespace)
        await asyncio.gather(
            *(self._client.delete(NODES, node["metadata"]["name"]) for node in cluster.nodes)
        )

    async def _difference(self, seed: int, pod: RandomPod) -> str:
        """Asked again, with pauses, before it counts: who is asked next may not have heard yet that the pod
        before is gone."""
        return await self._compare(seed, pod, 0.0) and await self._compare(seed, pod, HEARD_S)

    async def _compare(self, seed: int, pod: RandomPod, pause_s: float) -> str:
        ours = await self._ask(self._place.scheduler_name, pod, pause_s)
        theirs = await self._ask(THEIRS, pod, pause_s)
        where = f"seed {seed}, pod {pod.name}"
        if (bool(ours.node), ours.has_made_room) != (bool(theirs.node), theirs.has_made_room):
            return f"{where}: ours {_shown(ours)}; theirs {_shown(theirs)}"
        if not ours.node:
            if ours.refusals != theirs.refusals:
                return f"{where}: ours {_shown(ours)}; theirs {_shown(theirs)}"
            return ""
        if ours.node != theirs.node:
            pinned = await self._ask(THEIRS, _pinned(pod, ours.node), pause_s)
            if not pinned.node:
                return f"{where}: ours goes to {ours.node}, theirs would not: {_shown(pinned)}"
        return ""

    async def _ask(self, scheduler: str, pod: RandomPod, pause_s: float) -> Answer:
        """The pause is for both schedulers to hear of what has been made, and of what is gone."""
        self._asked += 1
        pod = numbered(pod, self._asked)
        pod.body["spec"]["schedulerName"] = scheduler
        namespace = self._place.namespace
        await create_storage(self._client, pod.storage, namespace)
        await asyncio.sleep(pause_s)
        try:
            await self._client.create(PODS, pod.body, namespace)
            async with asyncio.timeout(PATIENCE_S):
                answer = await self._answer(pod)
            return msgspec.structs.replace(answer, has_made_room=bool(await self._gone()))
        except TimeoutError:
            return Answer(refusals=("no answer",))
        finally:
            await self._delete_pod(pod.name, namespace)
            await remove_storage(self._client, pod.storage, namespace)
            await self._put_back()

    async def _answer(self, pod: RandomPod) -> Answer:
        """Who has had room made for it is waited for a while; that it was is what counts."""
        nominated_s = 0.0
        while True:
            said = await self._client.get(SAID, pod.name, self._place.namespace)
            if said.spec.node_name:
                return Answer(said.spec.node_name)
            if node := await self._node_of_volumes(pod):
                return Answer(node)
            for one in (said.status and said.status.conditions) or ():
                is_told = one.type == "PodScheduled" and one.status == "False" and one.message
                if is_told and said.status and not said.status.nominated_node_name:
                    return Answer(refusals=_histogram(one.message))
            if said.status is not None and said.status.nominated_node_name:
                nominated_s += LOOKED_EVERY_S
                if nominated_s > NOMINATED_S:
                    return Answer(said.status.nominated_node_name)
            await asyncio.sleep(LOOKED_EVERY_S)

    async def _node_of_volumes(self, pod: RandomPod) -> str:
        """Nobody makes volumes here: where they are asked for, the pod would be bound."""
        for claim in pod.storage.claims:
            if claim["spec"]["storageClassName"] in (ZONAL, SPACIOUS):
                name = claim["metadata"]["name"]
                found = await self._client.get(CLAIMS, name, self._place.namespace)
                if node := (found.metadata.annotations or {}).get(SELECTED_NODE):
                    return str(node)
        return ""

    async def _gone(self) -> list[RandomPod]:
        """Pods that had to go."""
        found = await self._client.list_all(PODS)
        there = {(pod.metadata.namespace, pod.metadata.name) for pod in found}
        return [pod for pod in self._running if (self._namespace_of(pod), pod.name) not in there]

    async def _put_back(self) -> None:
        """For the next question; not before whoever they went for is gone. Two pods with the same port on one
        node are one to kube-scheduler."""
        for pod in await self._gone():
            await self._run(pod)

    async def _delete_pod(self, name: str, namespace: str) -> None:
        with suppress(NotFound):
            await self._client.delete(PODS, name, namespace, grace_s=0)

    async def _add_node(self, node: dict[str, Any]) -> None:
        await self._client.create(NODES, node)
        spec = {"taints": node["spec"]["taints"] or None, "unschedulable": node["spec"]["unschedulable"]}
        await self._client.patch(NODES, node["metadata"]["name"], {"spec": spec})


def _histogram(message: str) -> tuple[str, ...]:
    """How many nodes, by reason, and on how many of them making room wouldn't help.

    Of the others kube-scheduler says either that nobody is there who could go, or what would be in the way
    after that: ours doesn't tell these apart.
    """
    refused, _, preemption = message.partition(" preemption: ")
    return (*_counts(refused), *(one for one in _counts(preemption) if _NO_HELP in one))


def _counts(text: str) -> tuple[str, ...]:
    """Newer releases of kube-scheduler no longer say which taint it is: ours does."""
    head, _, reasons = text.partition(". ")[0].rstrip(".").partition(": ")
    counts: Counter[str] = Counter()
    for one in re.split(r", (?=\d)", reasons):
        count, _, reason = one.partition(" ")
        counts[re.sub(r"taint \{[^}]*\}", "taint(s)", reason)] += int(count) if count.isdecimal() else 0
    return (head, *sorted(f"{count} {reason}" for reason, count in counts.items()))


def _pinned(pod: RandomPod, node: str) -> RandomPod:
    """It may go to that node alone, if it may at all: it asks for what no other has. An affinity would change
    what counts for a spread."""
    body = deepcopy(pod.body)
    resources = body["spec"]["containers"][0]["resources"]
    for amounts in (resources["requests"], resources.setdefault("limits", {})):
        amounts[only_on(node)] = "1"
    return msgspec.structs.replace(pod, body=body)


def _shown(answer: Answer) -> str:
    where = f"goes to {answer.node}" if answer.node else f"waits: {'; '.join(answer.refusals)}"
    return f"{where} (others go)" if answer.has_made_room else where


async def compare(control_plane: ControlPlane, namespace: str, seeds: range) -> list[str]:
    """Kubernetes' scheduler runs already, and the controller that binds volumes."""
    async with Client(control_plane.cluster.access()) as client:
        place = Place(client, namespace)
        async with place.scheduler(control_plane.cluster):
            differential = Differential(place)
            await differential.prepare()
            found: list[str] = []
            for seed in seeds:
                for text in await differential.differences(seed):
                    print(text, flush=True)
                    found.append(text)
            return found


def start_rivals(control_plane: ControlPlane) -> None:
    control_plane.start_scheduler()
    control_plane.start_controller_manager(*BINDS_VOLUMES)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    with ControlPlane() as control_plane:
        namespace = new_namespace(control_plane.cluster)
        start_rivals(control_plane)
        seeds = range(given.first_seed, given.first_seed + given.clusters)
        found = asyncio.run(compare(control_plane, namespace, seeds))
    print(f"{given.clusters} clusters, {10 * given.clusters} pods, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
