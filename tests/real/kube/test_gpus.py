"""GPUs on a real API server: models by the usual labels, whole and shared devices as resources, and shares by
annotations."""

from __future__ import annotations

import pytest

from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.gpus import GPU_DEVICE, GPU_MODEL, SHARED_GPUS
from tests.real.kube.cluster import Cluster
from tests.real.kube.expecting import bound_are, told
from tests.real.kube.pods import Place, eventually, place_in, pod_for, remains
from tests.real.kube.population import create_nodes, ready_node

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-3", "decide-2")]


async def add_node(place: Place, name: str, labels: dict[str, str], **devices: str) -> str:
    full = f"{place.namespace}-{name}"
    resources = {key.replace("__", "/"): value for key, value in devices.items()}
    capacity = {"cpu": "8", "memory": "16Gi", "pods": "110", **resources}
    await create_nodes(place.client, [ready_node(full, {**place.selector, **labels}, capacity)])
    return full


async def add_pod(
    place: Place,
    name: str,
    asked: dict[str, str] | None = None,
    said: dict[str, str] | None = None,
    gang: str = "",
) -> None:
    body = pod_for(
        place.scheduler_name, name, "100m", gang=gang, annotations=said, nodeSelector=place.selector
    )
    body["spec"]["containers"][0]["resources"]["limits"] = asked or {}
    await place.client.create(PODS, body, place.namespace)


async def test_a_gang_gets_the_model_that_it_names(cluster: Cluster, namespace: str) -> None:
    async with place_in(cluster, namespace) as place:
        gpus = {"nvidia.com__gpu": "2"}
        await add_node(place, "old", {"nvidia.com/gpu.product": "Tesla-T4"}, **gpus)
        new = await add_node(place, "new", {"nvidia.com/gpu.product": "NVIDIA-H200"}, **gpus)
        async with place.scheduler(cluster):
            for name in ("a", "b"):
                await add_pod(place, name, {"nvidia.com/gpu": "1"}, {GPU_MODEL: "h200"}, gang="g")
            await eventually(bound_are(place, "a", "b"))
            assert set((await place.bound()).values()) == {new}
            await add_pod(place, "c", {"nvidia.com/gpu": "1"}, {"nvidia.com/use-gputype": "B200"})
            part = "node(s) had no GPU of the model B200"
            await eventually(told(place, "FailedScheduling", "c", part))
            await remains(bound_are(place, "a", "b"))


@pytest.mark.parametrize("name", ["nvidia.com/gpu.shared", "volcano.sh/gpu-memory", "nvidia.com/gpucores"])
async def test_shared_devices_that_are_resources_are_counted(
    cluster: Cluster, namespace: str, name: str
) -> None:
    async with place_in(cluster, namespace) as place:
        await add_node(place, "a", {}, **{name: "4"})
        async with place.scheduler(cluster):
            await add_pod(place, "three", {name: "3"})
            await eventually(bound_are(place, "three"))
            await add_pod(place, "two", {name: "2"})
            await eventually(told(place, "FailedScheduling", "two", f"1 Insufficient {name}"))
            await remains(bound_are(place, "three"))


async def test_shares_by_annotation_where_nodes_give_some(cluster: Cluster, namespace: str) -> None:
    """And after a restart the same: the device is written on the pod."""
    async with place_in(cluster, namespace) as place:
        node = await add_node(place, "a", {})
        async with place.scheduler(cluster):
            await add_pod(place, "half", said={"gpu-fraction": "0.5"})
            await eventually(told(place, "FailedScheduling", "half", "gpu-fraction"))
            labels = {SHARED_GPUS: "1", "nvidia.com/gpu.memory": "40000"}
            await place.client.patch(NODES, node, {"metadata": {"labels": labels}})
            await eventually(bound_are(place, "half"))
        pods = await place.pods()
        assert (pods["half"].metadata.annotations or {})[GPU_DEVICE] == "0"
        async with place.scheduler(cluster):
            await add_pod(place, "by-memory", said={"gpu-memory": "16000"})
            await eventually(bound_are(place, "half", "by-memory"))
            await add_pod(place, "too-much", said={"gpu-fraction": "0.2"})
            await eventually(told(place, "FailedScheduling", "too-much", "Insufficient shared GPU"))
            await remains(bound_are(place, "half", "by-memory"))
            await place.client.delete(PODS, "half", namespace, grace_s=0)
            await eventually(bound_are(place, "too-much", "by-memory"))
