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
from copy import deepcopy
from typing import Any

import msgspec

from rota.intake.kubernetes.objects import KubeObject, KubeStruct
from rota.kube.client import Client
from rota.kube.resources import NODES, PODS, Resource
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.pods import Place
from tests.real.kube.random_cluster import REQUIRED, random_cluster

PATIENCE_S = 60.0
HEARD_S = 2.0
THEIRS = "default-scheduler"


class SaidCondition(KubeStruct):
    type: str
    status: str = ""
    message: str = ""


class SaidStatus(KubeStruct):
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


class Differential:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = place.client

    async def differences(self, seed: int) -> list[str]:
        cluster = random_cluster(seed)
        await asyncio.gather(*map(self._add_node, cluster.nodes))
        for pod in cluster.running:
            await self._client.create(PODS, pod, self._place.namespace)
        try:
            return [text for pod in cluster.pods if (text := await self._difference(seed, pod))]
        finally:
            names = [pod["metadata"]["name"] for pod in cluster.running]
            await asyncio.gather(*map(self._delete_pod, names))
            await asyncio.gather(
                *(self._client.delete(NODES, node["metadata"]["name"]) for node in cluster.nodes)
            )

    async def _difference(self, seed: int, pod: dict[str, Any]) -> str:
        """Asked again, with pauses, before it counts: who is asked next may not have heard yet that the pod
        before is gone."""
        return await self._compare(seed, pod, 0.0) and await self._compare(seed, pod, HEARD_S)

    async def _compare(self, seed: int, pod: dict[str, Any], pause_s: float) -> str:
        await asyncio.sleep(pause_s)
        ours = await self._ask(self._place.scheduler_name, pod)
        await asyncio.sleep(pause_s)
        theirs = await self._ask(THEIRS, pod)
        where = f"seed {seed}, pod {pod['metadata']['name']}"
        if bool(ours.node) != bool(theirs.node):
            return f"{where}: ours {_shown(ours)}; theirs {_shown(theirs)}"
        if not ours.node:
            if ours.refusals != theirs.refusals:
                return f"{where}: ours {_shown(ours)}; theirs {_shown(theirs)}"
            return ""
        if ours.node != theirs.node:
            await asyncio.sleep(pause_s)
            pinned = await self._ask(THEIRS, _pinned(pod, ours.node))
            if not pinned.node:
                return f"{where}: ours goes to {ours.node}, theirs would not: {_shown(pinned)}"
        return ""

    async def _ask(self, scheduler: str, pod: dict[str, Any]) -> Answer:
        body = deepcopy(pod)
        body["spec"]["schedulerName"] = scheduler
        name = body["metadata"]["name"]
        await self._client.create(PODS, body, self._place.namespace)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    said = await self._client.get(SAID, name, self._place.namespace)
                    if said.spec.node_name:
                        return Answer(said.spec.node_name)
                    for one in (said.status and said.status.conditions) or ():
                        if one.type == "PodScheduled" and one.status == "False" and one.message:
                            return Answer(refusals=_histogram(one.message))
                    await asyncio.sleep(0.01)
        finally:
            await self._delete_pod(name)

    async def _delete_pod(self, name: str) -> None:
        await self._client.delete(PODS, name, self._place.namespace, grace_s=0)

    async def _add_node(self, node: dict[str, Any]) -> None:
        await self._client.create(NODES, node)
        spec = {"taints": node["spec"]["taints"] or None, "unschedulable": node["spec"]["unschedulable"]}
        await self._client.patch(NODES, node["metadata"]["name"], {"spec": spec})


def _histogram(message: str) -> tuple[str, ...]:
    """How many nodes, by reason, and of how many it helps to make room there."""
    refused, _, preemption = message.partition(" preemption: ")
    return (*_counts(refused), *_counts(preemption))


def _counts(text: str) -> tuple[str, ...]:
    """Newer releases of kube-scheduler no longer say which taint it is: ours does."""
    head, _, reasons = text.partition(". ")[0].rstrip(".").partition(": ")
    counts: Counter[str] = Counter()
    for one in re.split(r", (?=\d)", reasons):
        count, _, reason = one.partition(" ")
        counts[re.sub(r"taint \{[^}]*\}", "taint(s)", reason)] += int(count) if count.isdecimal() else 0
    return (head, *sorted(f"{count} {reason}" for reason, count in counts.items()))


def _pinned(pod: dict[str, Any], node: str) -> dict[str, Any]:
    """It may go to that node alone, if it may at all."""
    body = deepcopy(pod)
    affinity = body["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    terms = affinity.setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [{}])
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    for term in terms:
        term["matchFields"] = [*term.get("matchFields", ()), here]
    return body


def _shown(answer: Answer) -> str:
    return f"goes to {answer.node}" if answer.node else f"waits: {'; '.join(answer.refusals)}"


async def compare(control_plane: ControlPlane, namespace: str, seeds: range) -> list[str]:
    """Kubernetes' scheduler runs already."""
    async with Client(control_plane.cluster.access()) as client:
        place = Place(client, namespace)
        async with place.scheduler(control_plane.cluster):
            found = []
            for seed in seeds:
                found += await Differential(place).differences(seed)
            return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    with ControlPlane() as control_plane:
        namespace = new_namespace(control_plane.cluster)
        control_plane.start_scheduler()
        seeds = range(given.first_seed, given.first_seed + given.clusters)
        found = asyncio.run(compare(control_plane, namespace, seeds))
    for line in found:
        print(line)
    print(f"{given.clusters} clusters, {10 * given.clusters} pods, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
