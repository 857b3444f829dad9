"""The scheduler on a real API server: pods are bound, told why they wait, and make room for others."""

from __future__ import annotations

import pytest

from rota.kube.api.errors import BadAnswer
from rota.kube.api.resources import BUDGETS, CLAIMS, NODES, PODS, STORAGE_CLASSES
from rota.kube.volumes.matching import BIND_COMPLETED
from tests.real.kube.cluster import Cluster
from tests.real.kube.pods import eventually, place_in, pod_for, remains

pytestmark = pytest.mark.slow


@pytest.mark.covers("kube-1", "kube-7")
async def test_pods_are_bound_and_told_so(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", cpu="2")
        async with place.scheduler(cluster):
            for number in range(4):
                await place.add_pod(f"p{number}")

            async def all_bound() -> bool:
                return len(await place.bound()) == 4

            await eventually(all_bound)
            assert sorted((await place.bound()).values()) == sorted(nodes * 2)

            async def told() -> bool:
                return len(await place.events("Scheduled")) == 4

            await eventually(told)
            (note,) = await place.notes("Scheduled", "p0")
            assert note == f"Successfully assigned {namespace}/p0 to {(await place.bound())['p0']}"


@pytest.mark.covers("kube-1")
async def test_pods_of_other_schedulers_are_left_alone_but_counted(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a", cpu="2")
        other = await place.add_pod("other")
        assert other.spec.scheduler_name == place.scheduler_name
        await place.client.create(
            PODS,
            {
                "metadata": {"name": "foreign"},
                "spec": {
                    "schedulerName": "somebody-else",
                    "nodeName": node,
                    "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}],
                },
            },
            namespace,
        )
        async with place.scheduler(cluster):

            async def is_told() -> bool:
                return bool(await place.notes("FailedScheduling", "other"))

            await eventually(is_told)
            assert "other" not in await place.bound()
            await place.client.delete(PODS, "foreign", namespace, grace_s=0)

            async def is_bound() -> bool:
                return "other" in await place.bound()

            await eventually(is_bound)


@pytest.mark.covers("kube-3", "kube-7")
async def test_why_a_pod_waits_is_on_the_pod(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        small, large = await place.add_nodes("small", cpu="1"), await place.add_nodes("large", cpu="8")
        taints = [{"key": "for", "value": "others", "effect": "NoSchedule"}]
        await place.client.patch(NODES, large[0], {"spec": {"taints": taints}})
        others = len(await place.client.list_all(NODES)) - 2
        async with place.scheduler(cluster):
            await place.add_pod("waits", cpu="2")

            async def is_told() -> bool:
                return bool(await place.notes("FailedScheduling", "waits"))

            await eventually(is_told)
            (note, *_) = await place.notes("FailedScheduling", "waits")
            assert "1 Insufficient cpu" in note
            assert "1 node(s) had untolerated taint {for: others}" in note
            assert f"{others + 2} nodes are available" in note
            pod = (await place.pods())["waits"]
            assert pod.status is not None
            conditions = {one.type: one for one in pod.status.conditions or ()}
            assert conditions["PodScheduled"].status == "False"
            assert conditions["PodScheduled"].reason == "Unschedulable"
            await place.client.patch(NODES, large[0], {"spec": {"taints": None}})

            async def is_bound() -> bool:
                return (await place.bound()).get("waits") == large[0]

            await eventually(is_bound)
            assert small


@pytest.mark.covers("kube-3")
async def test_room_is_made_for_the_more_important(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="1")
        async with place.scheduler(cluster):
            await place.add_pod("low", terminationGracePeriodSeconds=0)

            async def low_runs() -> bool:
                return "low" in await place.bound()

            await eventually(low_runs)
            await place.add_pod("high", priorityClassName="system-node-critical")

            async def high_runs() -> bool:
                return set(await place.bound()) == {"high"}

            await eventually(high_runs)
            assert await place.notes("Preempted", "low")


@pytest.mark.covers("kube-3")
async def test_room_is_not_made_for_who_may_not_preempt(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="1")
        async with place.scheduler(cluster):
            await place.add_pod("first")

            async def first_runs() -> bool:
                return set(await place.bound()) == {"first"}

            await eventually(first_runs)
            await place.add_pod("equal")
            await remains(first_runs)


@pytest.mark.covers("kube-3")
async def test_budgets_are_broken_only_if_there_is_no_other_way(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", "b", cpu="1")
        selector = {"matchLabels": {"app": "kept"}}
        budget = {"metadata": {"name": "kept"}, "spec": {"minAvailable": 1, "selector": selector}}
        await place.client.create(BUDGETS, budget, namespace)
        async with place.scheduler(cluster):
            await place.add_pod("kept", labels={"app": "kept"}, terminationGracePeriodSeconds=0)
            await place.add_pod("free", terminationGracePeriodSeconds=0)

            async def both_run() -> bool:
                return set(await place.bound()) == {"kept", "free"}

            await eventually(both_run)
            await place.add_pod("high", priorityClassName="system-node-critical")

            async def free_is_gone() -> bool:
                return set(await place.bound()) == {"kept", "high"}

            await eventually(free_is_gone)
            await place.add_pod("higher", priorityClassName="system-node-critical")

            async def kept_is_gone() -> bool:
                return set(await place.bound()) == {"high", "higher"}

            await eventually(kept_is_gone)


@pytest.mark.covers("kube-3")
async def test_volumes_are_made_where_their_first_consumer_goes(cluster: Cluster, namespace: str) -> None:
    """The test is who makes the volume, once the claim says for which node."""

    async with place_in(cluster, namespace) as place:
        client = place.client
        (node,) = await place.add_nodes("a")
        await client.create(
            STORAGE_CLASSES,
            {
                "metadata": {"name": namespace},
                "provisioner": "example.com/test",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        )
        amounts = {"storage": "1Gi"}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": namespace}
        claim = {"metadata": {"name": "data"}, "spec": {**spec, "resources": {"requests": amounts}}}
        async with place.scheduler(cluster):
            volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
            await place.add_pod("p", volumes=[volume])

            async def is_told() -> bool:
                return bool(await place.notes("FailedScheduling", "p"))

            await eventually(is_told)
            (note,) = await place.notes("FailedScheduling", "p")
            assert 'persistentvolumeclaim "data" not found' in note
            await client.create(CLAIMS, claim, namespace)

            async def is_asked_for() -> bool:
                found = await client.get(CLAIMS, "data", namespace)
                asked = (found.metadata.annotations or {}).get("volume.kubernetes.io/selected-node")
                return asked == node

            await eventually(is_asked_for)
            assert not await place.bound()
            agreed = {"annotations": {BIND_COMPLETED: "yes"}}
            change = {"metadata": agreed, "spec": {"volumeName": "made"}}
            await client.patch(CLAIMS, "data", change, namespace)

            async def is_bound() -> bool:
                return await place.bound() == {"p": node}

            await eventually(is_bound)


@pytest.mark.covers("kube-5", "kube-7")
async def test_what_the_api_server_lets_through_and_nobody_can_use(cluster: Cluster, namespace: str) -> None:
    """It is told on the pod, and the next one is scheduled."""
    term = {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["many"]}]}
    required = {"nodeSelectorTerms": [term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a")
        body = pod_for(place.scheduler_name, "bad", affinity=affinity)
        async with place.scheduler(cluster):
            # The answer to that can't be read, either.
            with pytest.raises(BadAnswer):
                await place.client.create(PODS, body, namespace)
            await place.add_pod("good")

            async def is_told() -> bool:
                return bool(await place.notes("FailedScheduling", "bad"))

            await eventually(is_told)
            (note,) = await place.notes("FailedScheduling", "bad")
            assert "compares with one whole number" in note

            async def is_bound() -> bool:
                return set(await place.bound()) == {"good"}

            await eventually(is_bound)
