"""GPUs of nodes, and what pods ask of them beyond resources: by the labels and annotations that their users
know from device plugins and from other schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import Labels, NodeName
from rota.model.node import Gpus, Node
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector
from rota.model.task import TaskSpec

_PREFIX = "batch.scheduling.k8s.io/"
SHARED_GPUS = f"{_PREFIX}shared-gpus"
"""Of a node: so many of its GPUs, from the first on, are given out in shares."""
GPU_DEVICE = f"{_PREFIX}gpu-device"
"""Of a pod that was bound: the number of the GPU that it has a share of."""
GPU_MODEL = f"{_PREFIX}gpu-model"
HAMI_MODEL = "nvidia.com/use-gputype"
FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
DEVICES = "gpu-fraction-num-devices"
DEVICE_MEMORY = "nvidia.com/gpu.memory"
_MODELS = (GPU_MODEL, HAMI_MODEL)
_SHARES = (FRACTION, MEMORY)
_NOT_UNDERSTOOD = {
    "nvidia.com/nouse-gputype": f"name the models that will do by {GPU_MODEL}",
    "nvidia.com/use-gpuuuid": "choose nodes by their labels",
    "nvidia.com/nouse-gpuuuid": "choose nodes by their labels",
}
_ANY = frozenset((*_MODELS, *_SHARES, DEVICES, *_NOT_UNDERSTOOD))
_PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator",
    "k8s.amazonaws.com/accelerator",
)
"""Labels that name the model, the first counts."""
_SHARED_SUFFIX = "-SHARED"
"""NVIDIA's device plugin says so of a model whose GPUs it gives to several pods."""
_WHOLE_GPUS = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu")
_MOST_DEVICES = 1024


def gpus_of(labels: Labels) -> Gpus:
    """`count`: those that are given out in shares. Others are resources, and counted as such."""
    known = dict(labels)
    model = next((known[key] for key in _PRODUCTS if known.get(key)), "")
    written = known.get(SHARED_GPUS, "")
    count = int(written) if written.isdecimal() and len(written) <= len(str(_MOST_DEVICES)) else 0
    return Gpus(min(count, _MOST_DEVICES), model.removesuffix(_SHARED_SUFFIX))


class SharedGpus:
    """Nodes that give GPUs in shares."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[NodeName, tuple[int, int | None]] = {}
        for node in nodes:
            self.set(node.name, node)

    def set(self, name: NodeName, node: Node | None) -> bool:
        """Whether that may matter to pods. None: it is gone."""
        now = None
        if node is not None and node.spec.gpus.count:
            memory = dict(node.spec.labels).get(DEVICE_MEMORY, "")
            now = (node.spec.gpus.count, int(memory) if memory.isdecimal() and len(memory) < 12 else None)
        before = self._nodes.pop(name, None)
        if now is not None:
            self._nodes[name] = now
        return before != now

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def devices_of(self, node: NodeName) -> int:
        return self._nodes.get(node, (0, None))[0]

    @property
    def memories_mib(self) -> list[int]:
        """Of one GPU each, the least first."""
        return sorted({memory for _, memory in self._nodes.values() if memory})


class GpuWish(Struct, frozen=True):
    models: tuple[str, ...] = ()
    share_milli: int = 0
    """Of one device; 0: it asks for none."""
    memory_mib: int = 0
    """Instead of a share."""


def asks_for_share(metadata: Metadata) -> bool:
    annotations = metadata.annotations or {}
    return any(key in annotations for key in _SHARES)


def gpu_wish(pod: Pod) -> GpuWish | None:
    """None: it says nothing of GPUs. FieldError names what can't be used."""
    annotations = pod.metadata.annotations
    if not annotations or _ANY.isdisjoint(annotations):
        return None
    for key, remedy in _NOT_UNDERSTOOD.items():
        if key in annotations:
            raise FieldError(_path(key), "is not understood", remedy)
    asked = [key for key in _SHARES if key in annotations]
    if len(asked) > 1:
        raise FieldError(
            _path(MEMORY), f"the pod asks for a share by {FRACTION} as well", "remove one of them"
        )
    if annotations.get(DEVICES, "1") != "1":
        raise FieldError(_path(DEVICES), "a pod can have a share of one GPU only", "remove it")
    for key in asked:
        _check_no_whole_gpu(pod, key)
    return GpuWish(
        models=_models(annotations),
        share_milli=_share_milli(annotations[FRACTION]) if FRACTION in annotations else 0,
        memory_mib=_memory_mib(annotations[MEMORY]) if MEMORY in annotations else 0,
    )


def with_gpus(spec: TaskSpec, wish: GpuWish, shared: SharedGpus) -> TaskSpec:
    """What a pod that waits asks for. FieldError: no node could ever give it that."""
    if not wish.share_milli and not wish.memory_mib:
        return replace(spec, node_gpu_models=wish.models)
    key = FRACTION if wish.share_milli else MEMORY
    if not shared:
        problem = "asks for a share of a GPU, and no node gives GPUs in shares"
        raise FieldError(_path(key), problem, f"an operator can label nodes with {SHARED_GPUS}")
    if wish.share_milli:
        return replace(spec, gpu=GpuRequest(1, wish.share_milli), node_gpu_models=wish.models)
    large_enough = [one for one in shared.memories_mib if one >= wish.memory_mib]
    if not large_enough:
        most = max(shared.memories_mib, default=0)
        known = (
            f"the largest GPU that is shared has {most} MiB"
            if most
            else "no node with shared GPUs says how large they are"
        )
        raise FieldError(
            _path(key), f"asks for {wish.memory_mib} MiB, and {known}", f"nodes say it by {DEVICE_MEMORY}"
        )
    # Of a larger GPU it takes the same share, which is more than it asks for, and never less.
    share_milli = -(-WHOLE_GPU_MILLI * wish.memory_mib // large_enough[0])
    enough = Requirement(DEVICE_MEMORY, Operator.GT, (str(wish.memory_mib - 1),))
    terms = tuple(
        replace(term, labels=Selector((*term.labels.requirements, enough)))
        for term in spec.node_affinity or (NodeTerm(),)
    )
    gpu = GpuRequest(1, share_milli)
    return replace(spec, gpu=gpu, node_gpu_models=wish.models, node_affinity=terms)


def device_of(pod: Pod, wish: GpuWish | None, shared: SharedGpus) -> int | None:
    """Of a pod that runs, the GPU that it has a share of; None: none that anybody counts."""
    if wish is None or not (wish.share_milli or wish.memory_mib):
        return None
    written = (pod.metadata.annotations or {}).get(GPU_DEVICE)
    if not isinstance(written, str) or not written.isdecimal() or len(written) > len(str(_MOST_DEVICES)):
        return None
    return int(written) if int(written) < shared.devices_of(NodeName(pod.spec.node_name or "")) else None


def _models(annotations: Mapping[str, object]) -> tuple[str, ...]:
    for key in _MODELS:
        if key not in annotations:
            continue
        models = tuple(dict.fromkeys(filter(None, (one.strip() for one in str(annotations[key]).split(",")))))
        if not models:
            raise FieldError(_path(key), "names no model", "write it like H200 or H100,H200")
        return models
    return ()


def _share_milli(written: object) -> int:
    try:
        share_milli = round(float(str(written)) * WHOLE_GPU_MILLI)
    except (ValueError, OverflowError):
        share_milli = 0
    if not 0 < share_milli <= WHOLE_GPU_MILLI:
        raise FieldError(_path(FRACTION), f"'{written}' is not a part of a GPU", "give 0.001 to 1")
    return share_milli


def _memory_mib(written: object) -> int:
    text = str(written)
    if not text.isdecimal() or len(text) > 9 or not int(text):
        raise FieldError(_path(MEMORY), f"'{written}' is not a number of MiB", "write it like 4096")
    return int(text)


def _check_no_whole_gpu(pod: Pod, key: str) -> None:
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        resources = container.resources
        for amounts in (resources and resources.requests, resources and resources.limits):
            for name in _WHOLE_GPUS:
                if amounts and name in amounts:
                    raise FieldError(_path(key), f"the pod asks for {name} as well", "remove one of them")


def _path(key: str) -> FieldPath:
    return ("metadata", "annotations", key)
