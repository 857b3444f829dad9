"""The manifests as they are given away, on a real API server: what they allow is enough, and not too much."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota.intake.kubernetes.objects import KubeObject, KubeStruct
from rota.kube.client import Client
from rota.kube.credentials import Credentials
from rota.kube.errors import AlreadyExists, Forbidden
from rota.kube.resources import EVENTS, NAMESPACES, NODES, PODS, Resource
from rota.kube.run import default_policy, running
from tests.real.kube.cluster import Cluster
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.pods import PATIENCE_S, eventually, place_in

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-8")]

DEPLOY = Path(__file__).parents[3] / "deploy"
NAME = "batch-scheduler"
CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
PLURAL = {"PodDisruptionBudget": "poddisruptionbudgets"}


class TokenStatus(KubeStruct):
    token: str


class TokenRequest(KubeObject):
    status: TokenStatus | None = None


async def apply(client: Client, file: Path, namespace: str = "") -> None:
    for document in yaml.safe_load_all(file.read_text()):
        kind = document["kind"]
        group, _, version = document["apiVersion"].rpartition("/")
        plural = PLURAL.get(kind, f"{kind.lower()}s")
        resource = Resource(group, version, plural, KubeObject, kind not in CLUSTER_WIDE)
        with contextlib.suppress(AlreadyExists):
            await client.create(resource, document, document["metadata"].get("namespace", namespace))


async def token_of_account(client: Client) -> str:
    tokens: Resource[TokenRequest] = Resource("", "v1", f"serviceaccounts/{NAME}/token", TokenRequest)
    made = await client.create(tokens, {"spec": {"audiences": None}}, NAME)
    assert made.status is not None
    return made.status.token


def test_the_scheduler_needs_no_more_than_its_role(cluster: Cluster, namespace: str) -> None:
    """It leads, binds, preempts, undoes and tells with the account of the manifest alone."""

    async def main() -> None:
        async with place_in(cluster, namespace) as place:
            await apply(place.client, DEPLOY / "batch-scheduler.yaml")
            access = cluster.access_with(Credentials(await token_of_account(place.client)), NAME)
            place.scheduler_name = NAME
            (node,) = await place.add_nodes("a", cpu="2")
            for name in ("torn0", "torn1"):
                await place.add_pod(name, cpu="3", gang="torn", least="2", terminationGracePeriodSeconds=0)
            await place.client.bind(namespace, "torn0", node)
            options = place.options(leader_elect=True, undone_after_s=0.5)
            async with running(access, options, default_policy(NAME)) as scheduler:
                await asyncio.wait_for(scheduler.synced(), PATIENCE_S)

                async def is_undone() -> bool:
                    return bool(await place.notes("GangUndone", "torn0"))

                await eventually(is_undone)
                await place.add_pod("low", cpu="2", terminationGracePeriodSeconds=0)

                async def low_runs() -> bool:
                    return "low" in await place.bound()

                await eventually(low_runs)
                await place.add_pod("high", cpu="2", priorityClassName="system-node-critical")

                async def high_runs() -> bool:
                    return "high" in await place.bound()

                await eventually(high_runs)

                async def is_told() -> bool:
                    return bool(await place.notes("FailedScheduling", "torn1"))

                await eventually(is_told)
                assert scheduler.teller.dropped_events == 0

    asyncio.run(main())


def test_the_account_may_do_nothing_else(cluster: Cluster, namespace: str) -> None:
    async def main() -> None:
        async with Client(cluster.access()) as admin:
            await apply(admin, DEPLOY / "batch-scheduler.yaml")
            access = cluster.access_with(Credentials(await token_of_account(admin)), NAME)
        async with Client(access) as client:
            forbidden: list[Any] = [
                client.create(PODS, {"metadata": {"name": "p"}}, namespace),
                client.delete(NODES, "n"),
                client.patch(NODES, "n", {"spec": {"unschedulable": True}}),
                client.create(NAMESPACES, {"metadata": {"name": "n"}}),
                client.list_all(EVENTS),
            ]
            for call in forbidden:
                with pytest.raises(Forbidden):
                    await call

    asyncio.run(main())


def test_the_example_is_bound_as_one(breakable: ControlPlane) -> None:
    cluster = breakable.cluster
    breakable.start_controller_manager("--controllers=job")

    async def main() -> None:
        async with place_in(cluster, "default") as place:
            await apply(place.client, DEPLOY / "examples" / "gang-job.yaml", "default")
            place.scheduler_name = NAME
            await place.add_nodes("a", cpu="4")
            async with place.scheduler(cluster):

                async def all_four() -> bool:
                    return len(await place.bound()) == 4

                await eventually(all_four)

    asyncio.run(main())
