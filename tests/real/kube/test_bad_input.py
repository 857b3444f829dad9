"""What users get wrong, on a real API server: they are told, with what is assumed, and nobody is held up."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from rota.kube.api.resources import PODS
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from tests.real.kube.cluster import Cluster
from tests.real.kube.conftest import created_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.expecting import bound_are, told
from tests.real.kube.pods import Place, eventually, place_in, pod_for, remains

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-7")]

LONGEST = "g" * 63


@pytest.mark.parametrize(
    "annotation", ["٣", "３", "三", "\N{FISH CAKE WITH SWIRL DESIGN}", " ", "33.333%", "1e99"]
)
async def test_an_annotation_that_looks_like_a_number(
    cluster: Cluster, namespace: str, annotation: str
) -> None:
    """Digits of other scripts are no digits to Kubernetes, and so aren't guessed at."""

    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="3")
        for name in ("p0", "p1"):
            await place.add_pod(name, gang="g", least=annotation)
        await place.add_pod("alone")
        await eventually(bound_are(place, "p0", "p1", "alone"))
        await eventually(told(place, "BadGangAnnotation", "p0", annotation.strip()))
        (note,) = await place.notes("BadGangAnnotation", "p0")
        assert DEFAULT_GANG_KEYS.annotation in note
        assert note.endswith("assumed: all pods of the gang start together")


async def test_parts_of_a_percent_are_rounded_up(cluster: Cluster, namespace: str) -> None:
    """33.3 % of four pods are two, and there is room for one."""

    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="1")
        for number in range(4):
            await place.add_pod(f"p{number}", gang="g", least="33.3%")
        async with place.scheduler(cluster):
            await eventually(told(place, "FailedScheduling", "p0", "1 of 2 pods of the gang"))
            await remains(bound_are(place))
            assert not await place.events("BadGangAnnotation")
            await place.add_nodes("b", cpu="1")

            async def two_run() -> bool:
                return len(await place.bound()) == 2

            await eventually(two_run)


@pytest.mark.covers("kube-2")
async def test_a_gang_larger_than_its_pods_waits_and_holds_up_nobody(
    cluster: Cluster, namespace: str
) -> None:
    """It may be that more come: the gang waits, says so, and others of that size of name don't mind."""

    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="8")
        await place.add_pod("p0", gang=LONGEST, least="1000000")
        await place.add_pod("q0", gang=LONGEST[:-1] + "h", least="1")
        await eventually(bound_are(place, "q0"))
        await eventually(told(place, "FailedScheduling", "p0", f"gang {LONGEST}: 1 of 1000000 pods present"))


async def test_two_values_in_one_gang(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a", cpu="8")
        await place.add_pod("p0", gang="g", least="3")
        await place.add_pod("p1", gang="g", least="50%")
        await place.add_pod("alone")
        for name in ("p0", "p1"):
            await eventually(told(place, "BadGangAnnotation", name, "3 and 50%; give all the same"))
            await eventually(told(place, "BadGangAnnotation", name, "assumed: 3"))
        await eventually(told(place, "FailedScheduling", "p0", "2 of 3 pods present"))
        await eventually(bound_are(place, "alone"))
        await remains(bound_are(place, "alone"))


async def test_unicode_that_means_nothing_to_us(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place, place.scheduler(cluster):
        await place.add_nodes("a")
        text = "Zwölf Boxkämpfer \N{RIGHT-TO-LEFT OVERRIDE}\N{PILE OF POO}\x7f"
        await place.add_pod("p0", gang="g", least="1", annotations={"example.com/note": text})
        await eventually(bound_are(place, "p0"))
        assert not await place.events("BadGangAnnotation")


def node_affinity(operator: str, *values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "k", "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def pod_affinity(**term: Any) -> dict[str, Any]:
    return {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term}]}
    }


MALFORMED = {
    "operator": node_affinity("Near", "x"),
    "no-values": node_affinity("In"),
    "no-number": node_affinity("Gt", "many"),
    "selector": pod_affinity(labelSelector={"matchExpressions": [{"key": "", "operator": "In"}]}),
    "no-topology": pod_affinity(topologyKey=""),
    "weight": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1000, "preference": {}}]
        }
    },
}


async def put_past_validation(control_plane: ControlPlane, place: Place, name: str, **spec: Any) -> None:
    body = pod_for(place.scheduler_name, name, **spec)
    body["metadata"] |= {
        "namespace": place.namespace,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending"}, **body}
    control_plane.store(f"/registry/pods/{place.namespace}/{name}", pod)


async def test_affinity_that_isnt_well_formed(breakable: ControlPlane) -> None:
    cluster = breakable.cluster
    namespace = await created_namespace(cluster)

    async with place_in(cluster, namespace) as place:
        await place.add_nodes("a", cpu="8")
        try:
            async with place.scheduler(cluster) as scheduler:
                for name, affinity in MALFORMED.items():
                    await put_past_validation(breakable, place, name, affinity=affinity)
                await place.add_pod("alone")
                await eventually(bound_are(place, "alone"))
                for name in MALFORMED:
                    await eventually(told(place, "FailedScheduling", name, "the pod can't be scheduled"))
                    (note,) = await place.notes("FailedScheduling", name)
                    assert "$.spec.affinity." in note, "it says where"
                assert scheduler.is_ready
        finally:
            for name in MALFORMED:
                await place.client.delete(PODS, name, namespace, grace_s=0)
