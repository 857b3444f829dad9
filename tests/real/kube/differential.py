"""Our scheduler beside kube-scheduler, pod by pod on the same random cluster.

`python -m tests.real.kube.differential --clusters 300 --first-seed 1`

Of each pod both must say the same: that it can be scheduled, or why each node refuses it, with the same
numbers, now and without those who may have to go for it. Where ours goes, kube-scheduler would let it go. Who
goes for it there is the same, and no other node would lose less.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import msgspec
import structlog

from rota.kube.api.client import Client
from rota.kube.api.errors import NotFound
from rota.kube.api.resources import (
    BUDGETS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
)
from rota.kube.volumes.matching import SELECTED_NODE
from tests.real.kube.changed_rules import counts_what_is_asked, is_same
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.pods import Place
from tests.real.kube.random_cluster import (
    HEAVY_RUNTIME,
    NEVER,
    PRIORITIES,
    RandomCluster,
    RandomPod,
    only_on,
    random_cluster,
)
from tests.real.kube.random_rules import NAMESPACES as OTHER_NAMESPACES
from tests.real.kube.random_volumes import CLASSES, SPACE_DRIVER, SPACIOUS, ZONAL, shared_storage
from tests.real.kube.said import SAID, Hearing, heard, parts_of
from tests.real.kube.storage import (
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    binds_volumes,
    create_storage,
    numbered,
    remove_storage,
)
from tests.real.kube.victims import cost_of

PATIENCE_S = 60.0
HEARD_S = 2.0
LOOKED_EVERY_S = 0.01
NOMINATED_S = 5.0
THEIRS = "default-scheduler"


class Answer(msgspec.Struct, frozen=True):
    node: str = ""
    """Where it goes, at once or when others have gone."""
    said: tuple[str, ...] = ()
    """Why it can't be scheduled, or couldn't before others went."""
    victims: frozenset[str] = frozenset()
    """Pods of lower priority that ended for it."""


class Differential:
    def __init__(self, place: Place, hearing: Hearing, restart: Callable[[], None]) -> None:
        """`restart`: starts kube-scheduler anew."""
        self._place = place
        self._client = place.client
        self._hearing = hearing
        self._running: list[RandomPod] = []
        self._asked = 0
        self.preempting = 0
        """Pods that others went for."""
        self.forgotten = 0
        """Differences that weren't there any more when kube-scheduler had been started anew: it had kept
        something of a pod that was gone, or lost something of one that was there."""
        self._restart = restart

    def summary(self) -> str:
        return (
            f"{self.preempting} pods had room made for them; {self.forgotten} differences went away when"
            " kube-scheduler was started anew"
        )

    async def prepare(self) -> None:
        """What all clusters have in common."""
        for name, labels in OTHER_NAMESPACES.items():
            await self._client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        for storage_class in CLASSES:
            await self._client.create(STORAGE_CLASSES, storage_class)
        await self._client.create(RUNTIME_CLASSES, HEAVY_RUNTIME)
        for name, value in PRIORITIES.items():
            await self._client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        never = {"metadata": {"name": NEVER}, "value": PRIORITIES["high"], "preemptionPolicy": "Never"}
        await self._client.create(PRIORITY_CLASSES, never)
        driver = {"metadata": {"name": SPACE_DRIVER}, "spec": {"storageCapacity": True}}
        await self._client.create(CSI_DRIVERS, driver)
        await create_storage(self._client, shared_storage(), self._place.namespace)

    async def differences(self, seed: int) -> list[str]:
        cluster = random_cluster(seed, may_overbook=counts_what_is_asked())
        await asyncio.gather(*map(self._add_node, cluster.nodes))
        for csi_node in cluster.limits:
            await self._client.create(CSI_NODES, csi_node)
        for capacity in cluster.spaces:
            await self._client.create(STORAGE_CAPACITIES, capacity, self._place.namespace)
        for budget in cluster.budgets:
            await self._add_budget(budget)
        self._running = [numbered(pod, 0) for pod in cluster.running]
        for pod in self._running:
            await create_storage(self._client, pod.storage, self._place.namespace)
            await self._run(pod)
        try:
            return [text for pod in cluster.pods if (text := await self._difference(seed, pod, cluster))]
        finally:
            await self._remove(cluster)

    async def _run(self, pod: RandomPod) -> None:
        namespace = self._namespace_of(pod)
        await self._client.create(PODS, pod.body, namespace)
        status = {"startTime": pod.started, **({"phase": pod.phase} if pod.phase else {})}
        await self._client.patch_status(PODS, pod.name, {"status": status}, namespace)
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
        for budget in cluster.budgets:
            await self._client.delete(BUDGETS, budget["metadata"]["name"], self._place.namespace)
        for csi_node in cluster.limits:
            await self._client.delete(CSI_NODES, csi_node["metadata"]["name"])
        for capacity in cluster.spaces:
            name = capacity["metadata"]["name"]
            await self._client.delete(STORAGE_CAPACITIES, name, self._place.namespace)
        await asyncio.gather(
            *(self._client.delete(NODES, node["metadata"]["name"]) for node in cluster.nodes)
        )

    async def _difference(self, seed: int, pod: RandomPod, cluster: RandomCluster) -> str:
        """Asked again, with pauses, before it counts: who is asked next may not have heard yet that the pod
        before is gone. And then again with a kube-scheduler that remembers nothing."""
        text = await self._compare(pod, cluster, 0.0) and await self._compare(pod, cluster, HEARD_S)
        if text:
            self._restart()
            await asyncio.sleep(HEARD_S)
            text = await self._compare(pod, cluster, HEARD_S)
            self.forgotten += not text
        return f"seed {seed}, pod {pod.name}: {text}" if text else ""

    async def _compare(self, pod: RandomPod, cluster: RandomCluster, pause_s: float) -> str:
        ours = await self._ask(self._place.scheduler_name, pod, pause_s)
        theirs = await self._ask(THEIRS, pod, pause_s)
        both = f"ours {_shown(ours)}; theirs {_shown(theirs)}"
        if (bool(ours.node), bool(ours.victims)) != (bool(theirs.node), bool(theirs.victims)):
            return both
        self.preempting += bool(theirs.victims)
        if not is_same(ours.said, theirs.said) and (not theirs.node or theirs.victims):
            return both
        if ours.node == theirs.node:
            return both if ours.victims != theirs.victims else ""
        if ours.victims:
            ours_cost, theirs_cost = (
                cost_of(one.victims, one.node, pod, self._running, cluster) for one in (ours, theirs)
            )
            if ours_cost != theirs_cost:
                return f"{both}; that costs {ours_cost}, and {theirs_cost}"
        pinned = await self._ask(THEIRS, _pinned(pod, ours.node), pause_s)
        if not pinned.node or pinned.victims != ours.victims:
            return f"ours {_shown(ours)}; there, theirs {_shown(pinned)}"
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
            made = await self._client.create(PODS, pod.body, namespace)
            uid = made.metadata.uid or ""
            async with asyncio.timeout(PATIENCE_S):
                node = await self._decided(pod)
            victims = frozenset(one.name for one in await self._gone())
            said = await self._hearing.refusal(uid, HEARD_S if victims or not node else 0.0)
            return Answer(node, parts_of(said) if victims or not node else (), victims)
        except TimeoutError:
            return Answer(said=("no answer",))
        finally:
            await self._delete_pod(pod.name, namespace)
            await remove_storage(self._client, pod.storage, namespace)
            await self._put_back()

    async def _decided(self, pod: RandomPod) -> str:
        """Which node it gets; empty: it waits. Who has had room made for it is waited for a while; that it
        was is what counts."""
        nominated_s = 0.0
        while True:
            said = await self._client.get(SAID, pod.name, self._place.namespace)
            if said.spec.node_name:
                return said.spec.node_name
            if node := await self._node_of_volumes(pod):
                return node
            if said.refusal and not said.nominated:
                # Who is told why in vain hears of a node in the same breath, if there is one.
                return ""
            if said.nominated:
                nominated_s += LOOKED_EVERY_S
                if nominated_s > NOMINATED_S:
                    return said.nominated
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

    async def _add_budget(self, budget: dict[str, Any]) -> None:
        namespace = self._place.namespace
        await self._client.create(BUDGETS, budget, namespace)
        name = budget["metadata"]["name"]
        await self._client.patch_status(BUDGETS, name, {"status": budget["status"]}, namespace)

    async def _add_node(self, node: dict[str, Any]) -> None:
        await self._client.create(NODES, node)
        spec = {"taints": node["spec"]["taints"] or None, "unschedulable": node["spec"]["unschedulable"]}
        await self._client.patch(NODES, node["metadata"]["name"], {"spec": spec})


def _pinned(pod: RandomPod, node: str) -> RandomPod:
    """It may go to that node alone, if it may at all: it asks for what no other has. An affinity would change
    what counts for a spread."""
    body = deepcopy(pod.body)
    resources = body["spec"]["containers"][0]["resources"]
    for amounts in (resources["requests"], resources.setdefault("limits", {})):
        amounts[only_on(node)] = "1"
    return msgspec.structs.replace(pod, body=body)


def _shown(answer: Answer) -> str:
    where = f"goes to {answer.node}" if answer.node else "waits"
    others = f" ({', '.join(sorted(answer.victims))} go)" if answer.victims else ""
    return f"{where}{others}: {'; '.join(answer.said)}" if answer.said else f"{where}{others}"


async def compare(control_plane: ControlPlane, namespace: str, seeds: range) -> list[str]:
    """Kubernetes' scheduler runs already, and the controller that binds volumes."""

    def restart() -> None:
        control_plane.stop_scheduler()
        control_plane.start_scheduler()

    async with Client(control_plane.cluster.access()) as client:
        place = Place(client, namespace)
        async with place.scheduler(control_plane.cluster), heard(client, namespace) as hearing:
            differential = Differential(place, hearing, restart)
            await differential.prepare()
            found: list[str] = []
            for seed in seeds:
                for text in await differential.differences(seed):
                    print(text, flush=True)
                    found.append(text)
                if (seed - seeds.start) % 20 == 19:
                    print(f"up to seed {seed}: {differential.summary()}", flush=True)
            print(differential.summary(), flush=True)
            return found


def start_rivals(control_plane: ControlPlane) -> None:
    control_plane.start_scheduler()
    control_plane.start_controller_manager(*binds_volumes())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with ControlPlane() as control_plane:
        namespace = new_namespace(control_plane.cluster)
        start_rivals(control_plane)
        seeds = range(given.first_seed, given.first_seed + given.clusters)
        found = asyncio.run(compare(control_plane, namespace, seeds))
    print(f"{given.clusters} clusters, {10 * given.clusters} pods, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
