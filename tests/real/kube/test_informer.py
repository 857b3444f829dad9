"""Informers on a real API server that changes, ends, and comes back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from rota.kube.api.client import Client, Selection
from rota.kube.api.errors import Expired
from rota.kube.api.informer import Informer, key_of
from rota.kube.api.resources import PODS
from rota.kube_objects.objects.pods import Pod
from rota.patience.backoff import Backoff
from tests.real.kube.cluster import Cluster
from tests.real.kube.conftest import created_namespace, new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.population import create_pods, plain_pod

pytestmark = pytest.mark.covers("kube-5")

PATIENCE_S = 60.0


class Witness:
    """Follows changes, and is sure that each fits the one before."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.changes = Counter[str]()

    def __call__(self, old: Pod | None, new: Pod | None) -> None:
        known = old or new
        assert known is not None
        name = known.metadata.name or ""
        assert self.pods.get(name) is old, "what was is what was told before"
        if new is None:
            del self.pods[name]
        else:
            self.pods[name] = new
        self.changes["removed" if new is None else "changed" if old else "added"] += 1


@asynccontextmanager
async def following(client: Client, namespace: str) -> AsyncIterator[tuple[Informer[Pod], Witness]]:
    informer = Informer(client, PODS, Selection(namespace), pauses=Backoff(0.05, 0.5))
    witness = Witness()
    informer.subscribe(witness)
    running = asyncio.create_task(informer.run())
    try:
        await asyncio.wait_for(informer.synced.wait(), PATIENCE_S)
        yield informer, witness
        assert not running.done()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def eventually(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.02)


async def agrees(client: Client, namespace: str, witness: Witness) -> None:
    """In the end it holds what the server holds, in the same versions."""
    listed = {
        key_of(pod.metadata).name: pod.metadata.resource_version
        for pod in await client.list_all(PODS, Selection(namespace))
    }
    await eventually(
        lambda: {name: pod.metadata.resource_version for name, pod in witness.pods.items()} == listed
    )


async def test_changes_are_told_as_they_come(cluster: Cluster, namespace: str) -> None:
    async with Client(cluster.access()) as client:
        await create_pods(client, namespace, 2)
        async with following(client, namespace) as (informer, witness):
            assert informer.has_synced
            assert len(informer.objects) == 2
            await client.create(PODS, plain_pod("late"), namespace)
            await client.bind(namespace, "late", "somewhere")
            await client.delete(PODS, "pod-00000", namespace, grace_s=0)
            await eventually(lambda: witness.changes["removed"] == 1)
            await eventually(lambda: witness.pods["late"].spec.node_name == "somewhere")
            await agrees(client, namespace, witness)


@pytest.mark.slow
async def test_the_server_is_killed_and_started_again(breakable: ControlPlane) -> None:
    """Whatever happens while nobody watches is known afterwards, and nothing is told twice."""
    namespace = await created_namespace(breakable.cluster)

    access = breakable.cluster.access()
    async with Client(access) as watching, Client(access) as changing:
        await create_pods(changing, namespace, 5)
        async with following(watching, namespace) as (informer, witness):
            breakable.stop_api_server()
            await eventually(lambda: informer.failure is not None)
            assert len(witness.pods) == 5, "what was known stays known"
            breakable.launch_api_server()
            await asyncio.to_thread(breakable.await_api_server)
            await changing.delete(PODS, "pod-00001", namespace, grace_s=0)
            await changing.create(PODS, plain_pod("late"), namespace)
            await agrees(changing, namespace, witness)
            await eventually(lambda: informer.failure is None)
            assert (witness.changes["added"], witness.changes["removed"]) == (6, 1)


@pytest.mark.slow
def test_a_version_from_before_a_restart(breakable: ControlPlane) -> None:
    async def main() -> None:
        async with Client(breakable.cluster.access()) as client:
            with pytest.raises(Expired):
                await anext(client.watch(PODS, "1", timeout_s=5))

    new_namespace(breakable.cluster)
    breakable.stop_api_server()
    breakable.start_api_server()
    asyncio.run(main())


@pytest.mark.slow
async def test_thousands_of_pods(breakable: ControlPlane) -> None:
    namespace = await created_namespace(breakable.cluster)

    async with (
        Client(breakable.cluster.access()) as client,
        following(client, namespace) as (_, watching),
    ):
        await create_pods(client, namespace, 5000)
        await agrees(client, namespace, watching)
        assert watching.changes == {"added": 5000}
        async with following(client, namespace) as (informer, listing):
            assert len(informer.objects) == 5000, "in many pages"
            for number in range(100):
                await client.bind(namespace, f"pod-{number:05}", "somewhere")
            for witness in (watching, listing):
                await agrees(client, namespace, witness)
                assert sum(pod.spec.node_name == "somewhere" for pod in witness.pods.values()) == 100
