"""The client's calls, on a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rota.kube.api.client import Client, PatchKind, Selection
from rota.kube.api.decoding import ChangeKind, Unreadable
from rota.kube.api.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    HeldByBudget,
    Invalid,
    NotFound,
)
from rota.kube.api.objects import Event, LeaseSpec, ObjectReference
from rota.kube.api.resources import EVENTS, LEASES, NODES, PODS, Resource
from rota.kube_objects.objects.metadata import KubeObject
from tests.real.kube.cluster import Cluster
from tests.real.kube.population import create_nodes, create_pods, plain_pod, ready_node

pytestmark = pytest.mark.covers("kube-5")

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", KubeObject)
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", KubeObject)
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", KubeObject)


def ask(cluster: Cluster, question: Callable[[Client], Awaitable[None]], user: str = "admin") -> None:
    async def main() -> None:
        async with Client(cluster.access(user)) as client:
            await question(client)

    asyncio.run(main())


def test_binding(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        [node] = await create_nodes(client, [ready_node(f"node-{namespace}")])
        assert node.spec is None or not node.spec.taints
        first, second = await create_pods(client, namespace, 2)
        to = node.metadata.name or ""
        await client.bind(namespace, "pod-00000", to, uid=first.metadata.uid or "")
        bound = await client.get(PODS, "pod-00000", namespace)
        assert bound.spec.node_name == to
        with pytest.raises(Conflict, match="already assigned"):
            await client.bind(namespace, "pod-00000", to)
        with pytest.raises(Conflict):
            await client.bind(namespace, "pod-00001", to, uid=first.metadata.uid or "")
        assert (await client.get(PODS, "pod-00001", namespace)).spec.node_name is None
        with pytest.raises(NotFound, match="create pods/binding"):
            await client.bind(namespace, "none", to)
        await client.delete(PODS, "pod-00001", namespace, uid=second.metadata.uid, grace_s=0)
        with pytest.raises(NotFound):
            await client.get(PODS, "pod-00001", namespace)

    ask(cluster, question)


def test_refusals(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        await client.create(PODS, plain_pod("a"), namespace)
        with pytest.raises(AlreadyExists):
            await client.create(PODS, plain_pod("a"), namespace)
        with pytest.raises(Invalid) as invalid:
            await client.create(PODS, plain_pod("b", containers=[]), namespace)
        assert [cause.field for cause in invalid.value.status.causes] == ["spec.containers"]
        with pytest.raises(BadRequest):
            await client.list_all(PODS, Selection(namespace, labels="a in"))
        with pytest.raises(Conflict):
            await client.delete(PODS, "a", namespace, uid="another")
        stale = {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}
        with pytest.raises(Conflict):
            await client.patch(PODS, "a", stale, namespace)

    ask(cluster, question)


def test_patches(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        await client.create(PODS, plain_pod("a"), namespace)
        patched = await client.patch(PODS, "a", {"metadata": {"labels": {"app": None, "x": "y"}}}, namespace)
        assert patched.metadata.labels == {"x": "y"}
        toleration = {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}
        await client.patch(PODS, "a", toleration, namespace, PatchKind.STRATEGIC)
        for kind in ("PodScheduled", "Other"):
            condition = {"type": kind, "status": "False", "reason": "Unschedulable"}
            await client.patch_status(PODS, "a", {"status": {"conditions": [condition]}}, namespace)
        found = await client.get(PODS, "a", namespace)
        assert found.status is not None
        assert {one.type for one in found.status.conditions or ()} == {"PodScheduled", "Other"}

    ask(cluster, question)


def test_evictions_keep_to_budgets(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        [node] = await create_nodes(client, [ready_node(f"node-{namespace}")])
        await create_pods(client, namespace, 2)
        for name in ("pod-00000", "pod-00001"):
            await client.bind(namespace, name, node.metadata.name or "")
            await client.patch_status(PODS, name, {"status": {"phase": "Running"}}, namespace)
        await client.evict(namespace, "pod-00000", grace_s=0)
        with pytest.raises(NotFound):
            await client.get(PODS, "pod-00000", namespace)
        budget = {
            "metadata": {"name": "all"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "test"}}},
        }
        await client.create(BUDGETS, budget, namespace)
        with pytest.raises(HeldByBudget):
            await client.evict(namespace, "pod-00001")

    ask(cluster, question)


def test_events_and_leases(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        pod = await client.create(PODS, plain_pod("a"), namespace)
        event: dict[str, Any] = {
            "metadata": {"generateName": "a-"},
            "eventTime": "2024-01-01T00:00:00.000000Z",
            "type": "Warning",
            "reason": "FailedScheduling",
            "note": "0/0 nodes are available",
            "action": "Scheduling",
            "reportingController": "batch-scheduler",
            "reportingInstance": "batch-scheduler-1",
            "regarding": ObjectReference("Pod", "a", namespace, pod.metadata.uid or "", "v1"),
        }
        await client.create(EVENTS, event, namespace)
        [found] = await client.list_all(EVENTS, Selection(namespace))
        assert isinstance(found, Event)
        assert (found.reason, found.note) == ("FailedScheduling", "0/0 nodes are available")
        assert found.regarding is not None
        assert found.regarding.uid == pod.metadata.uid
        spec = LeaseSpec("me", 15, renew_time="2024-01-01T00:00:00.000000Z")
        lease = await client.create(LEASES, {"metadata": {"name": "l"}, "spec": spec}, namespace)
        assert lease.spec == spec

    ask(cluster, question)


def test_pages_and_selections(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        await create_pods(client, namespace, 7)
        pages = [page async for page in client.pages(PODS, Selection(namespace), page_size=3)]
        assert [len(page.items) for page in pages] == [3, 3, 1]
        assert len({page.resource_version for page in pages}) == 1
        await client.bind(namespace, "pod-00003", "somewhere")
        unbound = await client.list_all(PODS, Selection(namespace, fields="spec.nodeName="))
        assert len(unbound) == 6
        assert await client.list_all(PODS, Selection(namespace, labels="app=other")) == []

    ask(cluster, question)


def test_watching(cluster: Cluster, namespace: str) -> None:
    async def question(client: Client) -> None:
        pages = [page async for page in client.pages(PODS, Selection(namespace))]
        version = pages[-1].resource_version
        await client.create(PODS, plain_pod("a"), namespace)
        await client.bind(namespace, "a", "somewhere")
        await client.delete(PODS, "a", namespace, grace_s=0)
        told = [
            (change.kind, change.object.spec.node_name)
            async for changes in client.watch(PODS, version, Selection(namespace), timeout_s=1)
            for change in changes
            if change.object is not None and not isinstance(change.object, Unreadable)
        ]
        assert (told[0], told[-1]) == ((ChangeKind.ADDED, None), (ChangeKind.DELETED, "somewhere"))
        assert (ChangeKind.MODIFIED, "somewhere") in told

    ask(cluster, question)


def test_an_account_with_few_rights(cluster: Cluster, namespace: str) -> None:
    async def allow_reading_one(client: Client) -> None:
        await client.create(PODS, plain_pod("a"), namespace)
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        await client.create(ROLES, {"metadata": {"name": "r"}, "rules": [rule]}, namespace)
        binding = {
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "visitor"}],
        }
        await client.create(ROLE_BINDINGS, binding, namespace)

    async def question(client: Client) -> None:
        deadline = asyncio.get_running_loop().time() + 30
        while True:
            try:
                await client.get(PODS, "a", namespace)
                break
            except Forbidden:
                # The server itself learns of new roles by watching.
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.05)
        with pytest.raises(Forbidden) as listing:
            await client.list_all(PODS, Selection(namespace))
        assert 'resources: ["pods"], verbs: ["list"]' in str(listing.value)
        with pytest.raises(Forbidden, match=r'"pods/binding"\], verbs: \["create"\]'):
            await client.bind(namespace, "a", "somewhere")
        with pytest.raises(Forbidden, match=r'"nodes"\], verbs: \["watch"\]'):
            async for _ in client.watch(NODES, "0"):
                pass
        with pytest.raises(Forbidden, match=r'\["coordination.k8s.io"\], resources: \["leases"\]'):
            await client.get(LEASES, "l", namespace)

    ask(cluster, allow_reading_one)
    ask(cluster, question, user="visitor")
