"""Gangs on a real API server: bound as one, or not at all, whatever happens in between."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from typing import Any

import pytest

from rota.kube.api.errors import Call, Unreachable
from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from tests.real.kube.cluster import Cluster
from tests.real.kube.conftest import created_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.expecting import bound_are, told
from tests.real.kube.pods import eventually, place_in, remains

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-2", "kube-4")]


async def test_a_number_of_pods_starts_together(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", "b", cpu="2")
        for name in ("p0", "p1"):
            await place.add_pod(name, gang="g", least="3")
        await eventually(told(place, "FailedScheduling", "p0", "2 of 3 pods present"))
        await remains(bound_are(place))
        await place.add_pod("p2", gang="g", least="3")
        await eventually(bound_are(place, "p0", "p1", "p2"))
        # Who comes late joins, and alone.
        await place.add_pod("p3", gang="g", least="3")
        await eventually(bound_are(place, "p0", "p1", "p2", "p3"))


async def test_a_percentage_of_the_pods_starts_together(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="2")
        for number in range(4):
            await place.add_pod(f"p{number}", gang="g", least="75%")
        async with place.scheduler(cluster):
            await eventually(told(place, "FailedScheduling", "p0", "2 of 3 pods of the gang"))
            await remains(bound_are(place))
            await place.add_nodes("b", cpu="1")

            async def three_run() -> bool:
                return len(await place.bound()) == 3

            await eventually(three_run)
            await remains(three_run)


async def test_pods_of_different_shapes_start_together(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="4")
        await place.add_pod("leader", cpu="3", gang="g")
        await place.add_pod("worker", cpu="2", gang="g")
        async with place.scheduler(cluster):
            await remains(bound_are(place), 3.0)
            await place.add_nodes("b", cpu="2")
            await eventually(bound_are(place, "leader", "worker"))


async def test_two_gangs_never_hold_half_of_what_both_need(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", "b", cpu="2")
        # One after the other in turn, as two controllers would make them.
        for number in range(4):
            for gang in ("x", "y"):
                await place.add_pod(f"{gang}{number}", gang=gang, least="4")

        async def one_is_whole() -> bool:
            counts = Counter(name[0] for name in await place.bound())
            assert len(counts) <= 1, "both hold something"
            return 4 in counts.values()

        await eventually(one_is_whole)
        first = next(iter(await place.bound()))[0]
        for number in range(4):
            await place.client.delete(PODS, f"{first}{number}", namespace, grace_s=0)
        second = "y" if first == "x" else "x"
        await eventually(bound_are(place, *(f"{second}{number}" for number in range(4))))


async def test_a_failed_member_is_replaced(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="3")
        for number in range(3):
            await place.add_pod(f"p{number}", gang="g", least="3")
        await eventually(bound_are(place, "p0", "p1", "p2"))
        await place.client.patch_status(PODS, "p1", {"status": {"phase": "Failed"}}, namespace)
        await place.add_pod("p1-again", gang="g", least="3")
        await eventually(bound_are(place, "p0", "p1", "p2", "p1-again"))


@pytest.mark.parametrize(
    "annotation, complaint",
    [
        ("abc", "abc"),
        ("-1", "-1"),
        ("0", "can't start with 0"),
        ("150%", "150%"),
        ("3½", "3½"),
    ],
)
@pytest.mark.covers("kube-7")
async def test_an_annotation_that_cant_be_used(
    cluster: Cluster, namespace: str, annotation: str, complaint: str
) -> None:
    """It is told on the pod, with what is assumed; and nobody is held up by it."""

    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="3")
        for name in ("p0", "p1"):
            await place.add_pod(name, gang="g", least=annotation)
        await place.add_pod("alone")
        await eventually(bound_are(place, "p0", "p1", "alone"))
        await eventually(told(place, "BadGangAnnotation", "p0", complaint))
        (note,) = await place.notes("BadGangAnnotation", "p0")
        assert DEFAULT_GANG_KEYS.annotation in note
        assert note.endswith("assumed: all pods of the gang start together")


async def test_two_values_in_one_gang(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="3")
        await place.add_pod("p0", gang="g", least="1")
        await eventually(bound_are(place, "p0"))
        await place.add_pod("p1", gang="g", least="3")
        await eventually(told(place, "BadGangAnnotation", "p1", "1 and 3"))
        await eventually(told(place, "BadGangAnnotation", "p1", "assumed: 3"))


async def test_a_node_vanishes_between_plan_and_bind(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", "c", cpu="1")
        async with place.scheduler(cluster) as scheduler:
            begun, go_on = asyncio.Event(), asyncio.Event()
            really_bind = scheduler.binder._client.bind

            async def bind(namespace: str, pod: str, node: str, *, uid: str = "", **more: Any) -> None:
                begun.set()
                await go_on.wait()
                if node == nodes[0]:
                    # It goes while the call is on its way.
                    await place.client.delete(NODES, nodes[0])
                    raise _unreachable()
                await really_bind(namespace, pod, node, uid=uid)

            scheduler.binder._client.bind = bind  # type: ignore[method-assign]
            for number in range(3):
                await place.add_pod(f"p{number}", gang="g", least="3")
            await begun.wait()
            go_on.set()
            await place.add_nodes("d", cpu="1")
            await eventually(bound_are(place, "p0", "p1", "p2"))
            assert nodes[0] not in (await place.bound()).values()


def _unreachable() -> Unreachable:
    return Unreachable(Call("create", "pods/binding"), "cut off")


async def test_another_has_bound_one_of_them(cluster: Cluster, namespace: str) -> None:
    """409: it counts where it is, and the gang is complete with it."""

    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", cpu="4")
        chosen = {}
        async with place.scheduler(cluster) as scheduler:
            really_bind = scheduler.binder._client.bind

            async def bind(namespace: str, pod: str, node: str, *, uid: str = "", **more: Any) -> None:
                chosen[pod] = node
                if pod == "p1":
                    other = next(one for one in nodes if one != node)
                    await place.client.bind(namespace, pod, other, uid=uid)
                await really_bind(namespace, pod, node, uid=uid)

            scheduler.binder._client.bind = bind  # type: ignore[method-assign]
            for number in range(3):
                await place.add_pod(f"p{number}", gang="g", least="3")
            await eventually(bound_are(place, "p0", "p1", "p2"))
            bound = await place.bound()
            assert bound.pop("p1") != chosen.pop("p1")
            assert bound == chosen


async def test_what_cant_be_completed_is_undone(cluster: Cluster, namespace: str) -> None:
    """As another leader finds it, that was killed between two binds, and whose room is gone since."""

    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a", cpu="1")
        for number in range(2):
            await place.add_pod(f"p{number}", gang="g", least="2", terminationGracePeriodSeconds=0)
        await place.client.bind(namespace, "p0", node)
        async with place.scheduler(cluster, undone_after_s=1.0):
            await eventually(told(place, "GangUndone", "p0", "couldn't start as a whole"))

            async def is_gone() -> bool:
                return "p0" not in await place.pods()

            await eventually(is_gone)
            assert not await place.bound()


async def test_what_can_be_completed_is(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", cpu="1")
        for number in range(2):
            await place.add_pod(f"p{number}", gang="g", least="2")
        await place.client.bind(namespace, "p0", nodes[0])
        async with place.scheduler(cluster, undone_after_s=60.0):
            await eventually(bound_are(place, "p0", "p1"))
            assert await place.bound() == {"p0": nodes[0], "p1": nodes[1]}


@pytest.mark.covers("kube-5")
async def test_the_api_server_is_killed_in_the_middle_of_a_gang(breakable: ControlPlane) -> None:
    cluster = breakable.cluster
    namespace = await created_namespace(cluster)

    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", "b", cpu="3")
        async with place.scheduler(cluster) as scheduler:
            binds = 0
            half = asyncio.Event()
            really_bind = scheduler.binder._client.bind

            async def bind(namespace: str, pod: str, node: str, *, uid: str = "", **more: Any) -> None:
                nonlocal binds
                binds += 1
                if binds > 3:
                    await half.wait()
                await really_bind(namespace, pod, node, uid=uid)

            scheduler.binder._client.bind = bind  # type: ignore[method-assign]
            for number in range(6):
                await place.add_pod(f"p{number}", gang="g", least="6")

            async def three_are_bound() -> bool:
                return len(await place.bound()) == 3

            await eventually(three_are_bound)
            breakable.stop_api_server(signal.SIGKILL)
            half.set()
            await asyncio.sleep(1)
            breakable.launch_api_server()
            await asyncio.to_thread(breakable.await_api_server)
            await eventually(bound_are(place, *(f"p{number}" for number in range(6))))
            assert max(Counter((await place.bound()).values()).values()) == 3


async def test_nothing_is_bound_without_the_lease(cluster: Cluster, namespace: str) -> None:
    """A second replica waits while the first leads."""

    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="4")
        async with place.scheduler(cluster, leader_elect=True) as first:
            await place.add_pod("p0")
            await eventually(bound_are(place, "p0"))
            async with place.scheduler(cluster, leader_elect=True) as second:
                await place.add_pod("p1")
                await eventually(bound_are(place, "p0", "p1"))
                assert (first.binder.bound, second.binder.bound) == (2, 0)
