"""A cluster's nodes as Rota places tasks on them: with what others' pods leave of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from rota.backends.kubernetes import names
from rota.backends.kubernetes.options import PodOptions
from rota.backends.kubernetes.resources import GPU
from rota.kube_objects.errors import FieldError
from rota.kube_objects.nodes import as_node
from rota.kube_objects.objects.nodes import Node as KubeNode
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.resources import Amounts, as_resources, pod_requests, read_amounts
from rota.kube_objects.taints import NOT_READY_KEYS
from rota.model.containers import IMAGE_NEEDED, RUNS_IMAGES
from rota.model.ids import Labels, NodeName
from rota.model.node import Gpus, Node
from rota.model.resources import Resources

_GPU_MODEL = "nvidia.com/gpu.product"


class ForeignUse:
    """What pods take that aren't Rota's, by node. Told of each change."""

    def __init__(self, instance: str, on_change: Callable[[], None]) -> None:
        self._instance = names.label_value(instance)
        self._on_change = on_change
        self._by_node: dict[str, Amounts] = {}

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        before, after = self._taken(old), self._taken(new)
        if before == after:
            return
        for taken, sign in ((before, -1), (after, 1)):
            if taken is not None:
                node, amounts = taken
                total = self._by_node.setdefault(node, {})
                for name, amount in amounts.items():
                    total[name] = total.get(name, 0) + sign * amount
        self._on_change()

    def of(self, node: str) -> Resources:
        return as_resources(self._by_node.get(node, {}))

    def _taken(self, pod: Pod | None) -> tuple[str, Amounts] | None:
        if pod is None or not pod.spec.node_name:
            return None
        if pod.status is not None and pod.status.phase in ("Succeeded", "Failed"):
            return None
        labels = pod.metadata.labels or {}
        if labels.get(names.BACKEND) == names.KIND and labels.get(names.INSTANCE) == self._instance:
            return None
        try:
            amounts = pod_requests(pod)
            for name, amount in read_amounts(pod.spec.overhead, ("spec", "overhead")).items():
                amounts[name] = amounts.get(name, 0) + amount
        except FieldError:
            # What can't be read takes no room that could be counted.
            amounts = {}
        return pod.spec.node_name, {**amounts, "pods": 1}


def node_of(
    found: KubeNode, backend: str, options: PodOptions, foreign: Resources, price_micro_per_hour: int = 0
) -> Node | None:
    """None: it has none of the labels that were asked for, or can't be read."""
    try:
        node = as_node(found)
    except FieldError:
        return None
    labels = dict(node.spec.labels)
    if any(labels.get(key) != value for key, value in options.node_labels):
        return None
    left = less(node.spec.capacity, foreign)
    devices = dict(left.extended)
    gpus = Gpus(devices.pop(GPU, 0), labels.get(_GPU_MODEL, ""))
    # Rota itself says when tasks of a silent node are lost: these taints would end them at once.
    taints = tuple(taint for taint in node.spec.taints if taint.key not in NOT_READY_KEYS)
    spec = replace(
        node.spec,
        capacity=replace(left, extended=tuple(sorted(devices.items()))),
        gpus=gpus,
        backend=backend,
        labels=with_label(node.spec.labels, RUNS_IMAGES),
        taints=taints if options.default_image else (*taints, IMAGE_NEEDED),
        price_micro_per_hour=price_micro_per_hour,
    )
    return replace(node, spec=spec, ready=is_ready(found))


def is_ready(node: KubeNode) -> bool:
    conditions = (node.status and node.status.conditions) or ()
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


def less(capacity: Resources, taken: Resources) -> Resources:
    """Never below nothing: nodes may be fuller than they say."""
    gone = dict(taken.extended)
    extended = ((name, max(0, amount - gone.get(name, 0))) for name, amount in capacity.extended)
    return Resources(
        max(0, capacity.cpu_milli - taken.cpu_milli),
        max(0, capacity.memory_bytes - taken.memory_bytes),
        max(0, capacity.storage_bytes - taken.storage_bytes),
        max(0, capacity.slots - taken.slots),
        tuple(extended),
    )


def with_label(labels: Labels, label: tuple[str, str]) -> Labels:
    return tuple(sorted((*(one for one in labels if one[0] != label[0]), label)))


def silent_nodes(nodes: Mapping[NodeName, bool], wanted: Iterable[NodeName]) -> list[NodeName]:
    """Of those wanted, the ones that aren't there or aren't ready."""
    return [name for name in wanted if not nodes.get(name, False)]
