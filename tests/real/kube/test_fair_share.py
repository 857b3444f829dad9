"""Fair shares of pods on a real API server: by whom, by which rules, and after a restart as before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.policies import policy_from
from rota.kube.api.resources import CONFIG_MAPS, PODS
from rota.kube.scheduling.run import KubeScheduler, running
from rota.model.ids import TaskName
from rota.model.policy import Policy
from tests.real.kube.cluster import Cluster
from tests.real.kube.expecting import bound_are, told
from tests.real.kube.pods import PATIENCE_S, Place, eventually, place_in, remains

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-11")]

KEY = "batch.scheduling.k8s.io/"
FAIR = "queues: [{strategy: fair, backfill: none}]"


def policy(text: str) -> Policy:
    (document,) = parse_documents(text.encode(), "policy.yaml")
    return policy_from(document)


@asynccontextmanager
async def scheduling(cluster: Cluster, place: Place, text: str) -> AsyncIterator[KubeScheduler]:
    access = cluster.access(namespace=place.namespace)
    async with running(access, place.options(), policy(text)) as scheduler:
        await asyncio.wait_for(scheduler.synced(), PATIENCE_S)
        yield scheduler


async def add(place: Place, name: str, **said: str) -> None:
    labels = {f"{KEY}{key}": value for key, value in said.items()}
    await place.add_pod(name, labels=labels, terminationGracePeriodSeconds=0)


async def remove(place: Place, name: str) -> None:
    await place.client.delete(PODS, name, place.namespace, grace_s=0)


@pytest.mark.parametrize("key", ["project/user", f"{KEY}user"])
async def test_what_was_used_counts_after_a_restart(cluster: Cluster, namespace: str, key: str) -> None:
    """Of two users who ask for the same room, the one goes first who has used less, though its name is the
    later one, and so is its pod."""
    text = f"queues: [{{strategy: fair, backfill: none, tenant_key: {key}}}]"
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="1")
        async with scheduling(cluster, place, text) as scheduler:
            await add(place, "before", user="ada")
            await eventually(bound_are(place, "before"))
            await asyncio.sleep(1.5)  # long enough to be more than nothing
            await remove(place, "before")

            async def is_seen() -> bool:
                return scheduler.mirror.pod(TaskName(f"{namespace}/before")) is None

            await eventually(is_seen)
        kept = await place.client.get(CONFIG_MAPS, f"{place.scheduler_name}-usage", namespace)
        assert f"{namespace}/ada" in (kept.data or {})["usage.json"]
        await add(place, "a1", user="ada")
        await add(place, "b1", user="bob")
        async with scheduling(cluster, place, text):
            await eventually(bound_are(place, "b1"))
            await remove(place, "b1")
            await eventually(bound_are(place, "a1"))


async def test_a_namespace_cant_claim_the_project_of_another(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="4")
        async with scheduling(cluster, place, FAIR + "\ntenants: {vision: {weight: 9}}"):
            await add(place, "claims", project="vision")
            await add(place, "own", project=namespace, user="ada")
            await eventually(bound_are(place, "own"))
            part = f'{KEY}project: "vision", which the namespace {namespace} may not'
            await eventually(told(place, "FailedScheduling", "claims", part))
            await remains(bound_are(place, "own"))
        allowed = f"\ntenants: {{vision: {{namespaces: [{namespace}]}}}}"
        async with scheduling(cluster, place, FAIR + allowed):
            await eventually(bound_are(place, "own", "claims"))


async def test_a_node_for_itself(cluster: Cluster, namespace: str) -> None:
    """Beside what belongs to the node; and where the policy allows it."""
    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a", cpu="4")
        daemon = {
            "metadata": {
                "name": "daemon",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "DaemonSet",
                        "name": "d",
                        "uid": "1",
                        "controller": True,
                    }
                ],
            },
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]},
        }
        await place.client.create(PODS, daemon, namespace)
        async with scheduling(cluster, place, "limits: {default: {exclusive: true}}"):
            await add(place, "alone", exclusive="true")
            await eventually(bound_are(place, "daemon", "alone"))
            await add(place, "another")
            await eventually(told(place, "FailedScheduling", "another", "0/"))
            await remains(bound_are(place, "daemon", "alone"))
            await remove(place, "alone")
            await eventually(bound_are(place, "daemon", "another"))
        await add(place, "greedy", exclusive="true")
        async with scheduling(cluster, place, FAIR):
            await eventually(told(place, "FailedScheduling", "greedy", f"{KEY}exclusive"))


async def test_queues_are_served_in_their_order_by_whom_may_use_them(
    cluster: Cluster, namespace: str
) -> None:
    queues = "queues: [{name: default}, {name: urgent, order: -1}]"
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="1")
        await add(place, "first")
        await add(place, "urgent", queue="urgent")
        allowed = f"\nlimits: {{projects: {{{namespace}: {{queues: [urgent, default]}}}}}}"
        async with scheduling(cluster, place, queues + allowed):
            await eventually(bound_are(place, "urgent"))
        await remove(place, "urgent")
        await add(place, "refused", queue="urgent")
        async with scheduling(cluster, place, queues):
            await eventually(bound_are(place, "first"))
            await eventually(told(place, "FailedScheduling", "refused", f"{KEY}queue"))
