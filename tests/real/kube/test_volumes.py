"""Volumes on a real API server, bound by the cluster's own controller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.kube.api.resources import CLAIMS
from rota.kube.volumes.matching import is_bound
from tests.real.conftest import missing
from tests.real.kube.conftest import created_namespace
from tests.real.kube.control_plane import ControlPlane, Missing
from tests.real.kube.local_volumes import add_claim, add_class, add_volume, using
from tests.real.kube.pods import Place, eventually, place_in
from tests.real.kube.storage import binds_volumes

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-3")]


@pytest.fixture(scope="module")
def with_binder() -> Iterator[ControlPlane]:
    try:
        control_plane = ControlPlane()
    except Missing as error:
        missing(str(error))
    with control_plane:
        control_plane.start_controller_manager(*binds_volumes())
        yield control_plane


async def volume_of(place: Place, claim: str) -> str:
    """Of a claim that is bound."""
    found = await place.client.get(CLAIMS, claim, place.namespace)
    assert is_bound(found)
    assert found.spec is not None
    return found.spec.volume_name or ""


async def test_claims_get_the_local_volumes_of_the_nodes_that_pods_go_to(with_binder: ControlPlane) -> None:
    cluster = with_binder.cluster
    namespace = await created_namespace(cluster)

    async with place_in(cluster, namespace) as place:
        first, second = await place.add_nodes("a", "b")
        await add_class(place)
        volumes = {
            await add_volume(place, "large", first, size="9Gi"): first,
            await add_volume(place, "one", first): first,
            await add_volume(place, "two", second): second,
        }
        async with place.scheduler(cluster):
            for number in range(4):
                await add_claim(place, f"data{number}")
                await place.add_pod(f"p{number}", volumes=using(f"data{number}"))

            async def three_are_bound() -> bool:
                return len(await place.bound()) == 3

            await eventually(three_are_bound)
            bound = await place.bound()
            chosen = {pod: await volume_of(place, pod.replace("p", "data")) for pod in bound}
            assert {pod: volumes[chosen[pod]] for pod in bound} == bound
            assert set(chosen.values()) == set(volumes)
            (left,) = {"p0", "p1", "p2", "p3"} - set(bound)

            async def is_told() -> bool:
                return bool(await place.notes("FailedScheduling", left))

            await eventually(is_told)
            notes = await place.notes("FailedScheduling", left)
            assert "2 node(s) didn't find available persistent volumes to bind" in notes[-1]
            await add_volume(place, "three", second)

            async def is_bound_there() -> bool:
                return (await place.bound()).get(left) == second

            await eventually(is_bound_there)


@pytest.mark.covers("kube-4")
async def test_a_gang_goes_where_each_of_its_pods_has_a_volume(with_binder: ControlPlane) -> None:
    """One node has room for all of it, and a volume for one."""
    cluster = with_binder.cluster
    namespace = await created_namespace(cluster)

    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", "c", cpu="16")
        await add_class(place)
        for number, node in enumerate(nodes):
            await add_volume(place, f"v{number}", node)
            await add_claim(place, f"data{number}")
        async with place.scheduler(cluster):
            for number in range(3):
                await place.add_pod(f"p{number}", volumes=using(f"data{number}"), gang="g", least="3")

            async def all_are_bound() -> bool:
                return sorted((await place.bound()).values()) == sorted(nodes)

            await eventually(all_are_bound)


async def test_who_uses_a_claim_for_one_pod_goes_for_who_is_more_important(with_binder: ControlPlane) -> None:
    cluster = with_binder.cluster
    namespace = await created_namespace(cluster)

    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a")
        await add_class(place)
        await add_volume(place, "v", node, mode="ReadWriteOncePod")
        await add_claim(place, "data", "ReadWriteOncePod")
        async with place.scheduler(cluster):
            await place.add_pod("low", volumes=using("data"), terminationGracePeriodSeconds=0)

            async def low_runs() -> bool:
                return set(await place.bound()) == {"low"}

            await eventually(low_runs)
            await place.add_pod("equal", volumes=using("data"))

            async def is_told() -> bool:
                return any(
                    "ReadWriteOncePod access mode already in-use by another pod" in note
                    for note in await place.notes("FailedScheduling", "equal")
                )

            await eventually(is_told)
            await place.add_pod("high", volumes=using("data"), priorityClassName="system-node-critical")

            async def high_runs() -> bool:
                return set(await place.bound()) == {"high"}

            await eventually(high_runs)
            assert await place.notes("Preempted", "low")
