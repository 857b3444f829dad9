"""Pods that share GPUs, as a cluster changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from rota.kube.mirror.reasons import Unusable
from rota.kube.scheduling.cycle import Scheduling
from rota.kube.scheduling.run import default_policy
from rota.kube_objects.gpus import GPU_DEVICE, GPU_MODEL, SHARED_GPUS
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import JobId, NodeName, TaskName
from tests.kit.waiting import eventually
from tests.unit.kube.pods import SCHEDULER, Told, node, pod
from tests.unit.kube.scheduling.bench import Bench

pytestmark = pytest.mark.covers("kube-3", "decide-2")

P, Q = TaskName("default/p"), TaskName("default/q")


def saying(made: Pod, **annotations: str) -> Pod:
    said = {key.replace("__", "/"): value for key, value in annotations.items()}
    return replace(made, metadata=replace(made.metadata, annotations=said))


def sharing(name: str = "n", gpus: int = 1) -> Node:
    labels: dict[str, Any] = {SHARED_GPUS: str(gpus), "nvidia.com/gpu.product": "NVIDIA-H200"}
    return node(name, cpu="8", **labels)


def test_a_pod_is_read_again_when_a_node_begins_to_share() -> None:
    told = Told()
    told.mirror.node_changed(None, node("n"))
    told.add(saying(pod("p"), **{"gpu-fraction": "0.5"}))
    told.mirror.settle(0.0)
    hold = told.mirror.holds[P]
    assert isinstance(hold, Unusable)
    assert "gpu-fraction" in hold.problem
    told.mirror.node_changed(node("n"), sharing())
    told.mirror.settle(0.0)
    assert not told.mirror.holds
    assert told.mirror.state.is_waiting(JobId(P))
    told.mirror.node_changed(sharing(), None)
    told.mirror.settle(0.0)
    assert P in told.mirror.holds


def test_what_is_assumed_and_what_runs_has_its_device() -> None:
    told = Told()
    told.mirror.node_changed(None, sharing(gpus=2))
    waits = saying(pod("p"), **{"gpu-fraction": "0.5"})
    told.add(waits)
    told.mirror.settle(0.0)
    told.mirror.assume({P: NodeName("n")}, {P: (1,)})
    told.mirror.settle(0.0)
    assert told.mirror.state.snapshot().gpu_free.tolist() == [[1000, 500]]
    runs = saying(pod("p", node="n"), **{"gpu-fraction": "0.5", GPU_DEVICE: "1"})
    told.mirror.pod_changed(waits, runs)
    told.mirror.settle(0.0)
    assert told.mirror.state.snapshot().gpu_free.tolist() == [[1000, 500]]
    told.mirror.pod_changed(runs, None)
    told.mirror.settle(0.0)
    assert told.mirror.state.snapshot().gpu_free.tolist() == [[1000, 1000]]


async def test_two_halves_of_one_gpu_and_the_third_waits() -> None:
    bench = Bench()
    bench.mirror.pod_changed(pod("p"), None)
    bench.mirror.node_changed(node("n"), sharing())
    for name in ("a", "b", "c"):
        bench.told.add(saying(pod(name, cpu="100m"), **{"gpu-fraction": "0.5"}))
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, default_policy(SCHEDULER), Metrics())
    running = asyncio.create_task(scheduling.run())
    c = TaskName("default/c")
    await eventually(lambda: len(bench.server.binds) == 2 and c in bench.recorder._latest)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert bench.server.binds == [("a", "n"), ("b", "n")]
    assert bench.server.annotations == {GPU_DEVICE: "0"}
    assert "1 Insufficient shared GPU" in bench.recorder._latest[c]


async def test_a_pod_goes_where_its_model_is() -> None:
    bench = Bench()
    bench.mirror.pod_changed(pod("p"), None)
    bench.mirror.node_changed(None, sharing("right"))
    bench.told.add(saying(pod("a"), **{GPU_MODEL: "h200"}), saying(pod("b"), **{GPU_MODEL: "B200"}))
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, default_policy(SCHEDULER), Metrics())
    running = asyncio.create_task(scheduling.run())
    b = TaskName("default/b")
    await eventually(lambda: bool(bench.server.binds) and b in bench.recorder._latest)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert bench.server.binds == [("a", "right")]
    assert "2 node(s) had no GPU of the model B200" in bench.recorder._latest[b]
