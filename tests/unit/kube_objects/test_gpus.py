"""GPUs of nodes, and what pods ask of them by annotations."""

from __future__ import annotations

import pytest

from rota.kube_objects.gpus import GPU_DEVICE, GPU_MODEL, SHARED_GPUS, SharedGpus, gpus_of
from rota.model.ids import NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import GpuRequest, Resources
from rota.model.selectors import Operator, Requirement
from rota.model.task import TaskSpec
from tests.unit.kube_objects.reading import jobs, pod, refusal

pytestmark = pytest.mark.covers("kube-3", "decide-2")


def node(name: str = "n1", **labels: str) -> str:
    written = ", ".join(f'"{key.replace("__", "/")}": "{value}"' for key, value in labels.items())
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{{written}}}}}\n"
        "status: {allocatable: {cpu: 8, memory: 8Gi, pods: 110, nvidia.com/gpu: 2}}"
    )


def sharing(name: str = "n1", gpus: int = 2, memory: int = 40960) -> str:
    labels = {SHARED_GPUS: str(gpus), "nvidia.com/gpu.memory": str(memory)}
    return node(name, **{key.replace("/", "__"): value for key, value in labels.items()})


def spec(annotations: str, *nodes: str, more: str = "") -> TaskSpec:
    made = pod(metadata=f"annotations: {{{annotations}}}", spec=more)
    return jobs(made, *nodes)["shop/web"].job.template.groups[0].spec


@pytest.mark.parametrize(
    ("labels", "gpus"),
    [
        ({}, Gpus()),
        ({"nvidia.com/gpu.product": "NVIDIA-H200"}, Gpus(0, "NVIDIA-H200")),
        ({"nvidia.com/gpu.product": "Tesla-T4-SHARED"}, Gpus(0, "Tesla-T4")),
        ({"nvidia.com/gpu.product": "A100-SXM4-40GB-MIG-1g.5gb"}, Gpus(0, "A100-SXM4-40GB-MIG-1g.5gb")),
        ({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, Gpus(0, "AMD_Instinct_MI300X_OAM")),
        ({"gpu.intel.com/product": "Flex_170"}, Gpus(0, "Flex_170")),
        ({"cloud.google.com/gke-accelerator": "nvidia-l4"}, Gpus(0, "nvidia-l4")),
        ({SHARED_GPUS: "2", "nvidia.com/gpu.product": "NVIDIA-L4"}, Gpus(2, "NVIDIA-L4")),
        ({SHARED_GPUS: "many"}, Gpus()),
        ({SHARED_GPUS: "9999999"}, Gpus()),
    ],
)
def test_gpus_of_a_node(labels: dict[str, str], gpus: Gpus) -> None:
    assert gpus_of(tuple(sorted(labels.items()))) == gpus


@pytest.mark.parametrize("key", [GPU_MODEL, "nvidia.com/use-gputype"])
def test_a_model_by_annotation(key: str) -> None:
    asked = spec(
        f'"{key}": "H200, H100"', more="containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]"
    )
    assert (asked.gpu, asked.node_gpu_models) == (GpuRequest(), ("H200", "H100"))
    assert asked.requests == Resources(extended=(("nvidia.com/gpu", 1),))


@pytest.mark.parametrize(
    ("written", "share_milli"), [("0.5", 500), ("0.001", 1), ("1", 1000), ("0.3333", 333)]
)
def test_a_share_by_kais_annotation(written: str, share_milli: int) -> None:
    assert spec(f'gpu-fraction: "{written}"', sharing()).gpu == GpuRequest(1, share_milli)


def test_memory_is_a_share_of_the_smallest_gpu_that_has_as_much() -> None:
    nodes = sharing("small", memory=10_000), sharing("medium", memory=40_000), sharing("large", memory=80_000)
    asked = spec('gpu-memory: "12000"', *nodes)
    assert asked.gpu == GpuRequest(1, 300)
    (term,) = asked.node_affinity
    assert term.labels.requirements == (Requirement("nvidia.com/gpu.memory", Operator.GT, ("11999",)),)


@pytest.mark.parametrize(
    ("annotations", "nodes", "names"),
    [
        ('gpu-fraction: "0.5"', (node(),), ("gpu-fraction", "no node gives GPUs in shares", SHARED_GPUS)),
        ('gpu-memory: "100"', (), ("gpu-memory", SHARED_GPUS)),
        ('gpu-memory: "90000"', (sharing(),), ("gpu-memory", "40960 MiB")),
        ('gpu-memory: "lots"', (sharing(),), ("gpu-memory", "MiB")),
        ('gpu-fraction: "1.5"', (sharing(),), ("gpu-fraction", "0.001 to 1")),
        ('gpu-fraction: "nan"', (sharing(),), ("gpu-fraction",)),
        ('gpu-fraction: "0.5", gpu-memory: "100"', (sharing(),), ("gpu-memory", "gpu-fraction")),
        (
            'gpu-fraction: "0.5", gpu-fraction-num-devices: "2"',
            (sharing(),),
            ("gpu-fraction-num-devices", "one GPU only"),
        ),
        ('nvidia.com/nouse-gputype: "T4"', (sharing(),), ("nvidia.com/nouse-gputype", GPU_MODEL)),
        (f'"{GPU_MODEL}": " , "', (sharing(),), (GPU_MODEL, "names no model")),
    ],
)
def test_what_cant_be_had_is_refused_by_its_annotation(
    annotations: str, nodes: tuple[str, ...], names: tuple[str, ...]
) -> None:
    error = str(refusal(pod(metadata=f"annotations: {{{annotations}}}"), *nodes))
    for name in names:
        assert name in error


def test_a_share_beside_whole_gpus_is_refused() -> None:
    made = pod(
        metadata='annotations: {gpu-fraction: "0.5"}',
        spec="containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]",
    )
    assert "nvidia.com/gpu as well" in str(refusal(made, sharing()))


@pytest.mark.parametrize(
    "name",
    [
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "volcano.sh/gpu-memory",
        "volcano.sh/gpu-number",
        "volcano.sh/vgpu-number",
    ],
)
def test_resources_of_any_device_plugin_are_counted_as_they_are(name: str) -> None:
    made = pod(spec=f'containers: [{{name: c, resources: {{limits: {{"{name}": 3}}}}}}]')
    asked = jobs(made)["shop/web"].job.template.groups[0].spec
    assert asked.requests.extended == ((name, 3),)
    assert asked.gpu == GpuRequest()


@pytest.mark.parametrize(
    ("device", "devices"),
    [("1", (1,)), ("7", ()), ("first", ()), (None, ())],
)
def test_a_pod_that_runs_has_the_device_that_it_was_given(
    device: str | None, devices: tuple[int, ...]
) -> None:
    given = f', "{GPU_DEVICE}": "{device}"' if device else ""
    running = pod(metadata=f'annotations: {{gpu-fraction: "0.5"{given}}}', spec="nodeName: n1")
    record = jobs(running, sharing())["shop/web"]
    assert record.placements[0].gpu_devices == devices
    assert record.job.template.groups[0].spec.gpu == (GpuRequest(1, 500) if devices else GpuRequest())


def test_whether_a_node_matters_to_whoever_asks_for_shares() -> None:
    shared, name = SharedGpus(), NodeName("n")
    plain = Node(name, NodeSpec(Resources()))
    giving = Node(name, NodeSpec(Resources(), Gpus(2), labels=(("nvidia.com/gpu.memory", "40960"),)))
    assert not shared
    assert [shared.set(name, one) for one in (plain, giving, giving, None, None)] == [
        False,
        True,
        False,
        True,
        False,
    ]
    shared.set(name, giving)
    assert (bool(shared), shared.devices_of(name), shared.memories_mib) == (True, 2, [40960])
