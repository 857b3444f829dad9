"""Volumes given to claims, by an API server that may refuse and a controller that takes its time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rota.kube.api.errors import Call, Conflict
from rota.kube.api.objects import Status
from rota.kube.volumes.binding import WITHIN_S, VolumeBinder, VolumesLost
from rota.kube_objects.objects.volumes import PersistentVolumeClaim
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName, TaskName
from tests.kit.virtual_time import run
from tests.unit.kube.pods import node
from tests.unit.kube.storage import claim, pod_with, storage_class, volume
from tests.unit.kube.volumes.cluster import Volumes

pytestmark = [pytest.mark.covers("kube-3", "kube-5"), pytest.mark.virtual_time]

P = TaskName("default/p")
CONFLICT = Conflict(Call("patch", "persistentvolumes"), Status(code=409))


class Api:
    def __init__(self, *refused: str) -> None:
        self.patched: list[tuple[str, Any]] = []
        self._refused = refused

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "") -> Any:
        if name in self._refused:
            raise CONFLICT
        self.patched.append((name, change))
        return volume(name)


def cluster(*volumes: str, provisioner: str = "") -> Volumes:
    known = Volumes(node("n", host="n"))
    known.add(storage_class("fast", provisioner) if provisioner else storage_class("fast"))
    for name in volumes:
        known.add(volume(name, on="n"), claim(f"claim-{name}"))
    return known


def provide(known: Volumes, api: Api, *claims: str, then: Any = None) -> None:
    """`then` is done while it waits."""
    one = pod_with("p", *claims)
    assert known.book.reserve(P, one, NodeName("n"))

    async def until(is_so: Any) -> None:
        if then is not None:
            await asyncio.sleep(1)
            then()
        while not is_so():
            await asyncio.sleep(1)

    async def main() -> None:
        await VolumeBinder(api, known.book, until).provide(P, one)

    run(main())


def bound(name: str, to: str) -> PersistentVolumeClaim:
    return claim(name, volume=to)


def test_the_volume_is_given_its_claim_and_the_controller_does_the_rest() -> None:
    known, api = cluster("v"), Api()
    provide(known, api, "claim-v", then=lambda: known.book.claim(None, bound("claim-v", "v")))
    [(name, change)] = api.patched
    assert name == "v"
    assert change["metadata"] == {
        "resourceVersion": "5",
        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
    }
    reference = change["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"]) == ("default", "claim-v")
    assert (reference["uid"], reference["kind"]) == ("uid-claim-v", "PersistentVolumeClaim")


def test_where_volumes_are_made_the_claim_is_told_the_node() -> None:
    known, api = cluster(provisioner="made.example.com"), Api()
    known.add(claim("data"))
    provide(known, api, "data", then=lambda: known.book.claim(None, bound("data", "made")))
    assert api.patched == [
        ("data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}})
    ]


def test_bound_claims_are_left_alone() -> None:
    known, api = cluster(), Api()
    known.add(volume("v"), bound("data", "v"))
    provide(known, api, "data")
    assert api.patched == []


def test_if_one_of_two_is_anothers_by_now_the_other_is_given_back() -> None:
    known, api = cluster("v", "w"), Api("w")
    with pytest.raises(Conflict):
        provide(known, api, "claim-v", "claim-w")
    assert [name for name, _ in api.patched] == ["v", "v"]
    assert api.patched[1][1]["spec"] == {"claimRef": None}
    assert api.patched[1][1]["metadata"]["resourceVersion"] == "5", "only if nobody has touched it since"


def test_a_claim_that_is_deleted_meanwhile() -> None:
    known, api = cluster("v"), Api()
    with pytest.raises(VolumesLost):
        provide(known, api, "claim-v", then=lambda: known.book.claim(claim("claim-v"), None))


async def test_a_volume_that_the_controller_takes_from_its_claim() -> None:
    known, api = cluster("v"), Api()
    one = pod_with("p", "claim-v")
    assert known.book.reserve(P, one, NodeName("n"))

    async def until(is_so: Any) -> None:
        assert not is_so(), "nothing of it has been seen yet"
        free, given = volume("v", on="n"), volume("v", on="n", kept_for="claim-v")
        known.book.volume(free, given)
        assert not is_so()
        known.book.volume(given, free)
        assert is_so()

    with pytest.raises(VolumesLost):
        await VolumeBinder(api, known.book, until).provide(P, one)


async def test_who_makes_a_volume_gives_up_by_taking_the_node_from_the_claim() -> None:
    known, api = cluster(provisioner="made.example.com"), Api()
    known.add(claim("data"))
    one = pod_with("p", "data")
    assert known.book.reserve(P, one, NodeName("n"))

    async def until(is_so: Any) -> None:
        known.book.claim(claim("data"), claim("data", selected="n"))
        assert not is_so()
        known.book.claim(claim("data", selected="n"), claim("data"))
        assert is_so()

    with pytest.raises(VolumesLost):
        await VolumeBinder(api, known.book, until).provide(P, one)


async def test_what_never_comes_isnt_waited_for_without_end() -> None:
    known, api = cluster("v"), Api()

    one = pod_with("p", "claim-v")
    assert known.book.reserve(P, one, NodeName("n"))

    async def until(is_so: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await VolumeBinder(api, known.book, until).provide(P, one)
    assert asyncio.get_running_loop().time() == pytest.approx(WITHIN_S)


def test_who_shares_a_claim_waits_for_whoever_was_first() -> None:
    known, api = cluster("v"), Api()
    assert known.book.reserve(TaskName("default/first"), pod_with("first", "claim-v"), NodeName("n"))
    provide(known, api, "claim-v", then=lambda: known.book.claim(None, bound("claim-v", "v")))
    assert api.patched == [], "the first one sees to it"
    assert known.book.chosen_for(ClaimKey("default", "claim-v")) is not None
