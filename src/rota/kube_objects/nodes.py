"""A Node as a record of the model."""

from rota.kube_objects.gpus import gpus_of
from rota.kube_objects.objects import nodes as objects
from rota.kube_objects.resources import as_resources, read_amounts
from rota.kube_objects.selectors import as_labels
from rota.kube_objects.taints import NOT_READY_KEYS, UNSCHEDULABLE, as_taint
from rota.model.ids import NodeName
from rota.model.node import Node, NodeSpec
from rota.model.resources import DEFAULT_SLOTS, Resources
from rota.model.taints import Effect, Taint

BACKEND = "kubernetes"


def as_node(node: objects.Node) -> Node:
    """Cordons and unreadiness become what pods can tolerate, as they can in Kubernetes: taints.

    `spec.unschedulable` refuses just those pods that don't tolerate the taint of that name, so it is that
    taint and never the flag of the model. A node's Ready condition is turned into taints by the cluster's
    own controllers; the flag stands for it only where they didn't.
    """
    taints = _taints(node.spec or objects.NodeSpec())
    labels = as_labels(node.metadata.labels)
    return Node(
        name=NodeName(node.metadata.name or ""),
        spec=NodeSpec(
            capacity=_capacity(node.status or objects.NodeStatus()),
            gpus=gpus_of(labels),
            backend=BACKEND,
            labels=labels,
            taints=taints,
        ),
        ready=_is_ready(node) or any(_says_not_ready(taint) for taint in taints),
        images=_images(node.status or objects.NodeStatus()),
    )


def _taints(spec: objects.NodeSpec) -> tuple[Taint, ...]:
    taints = tuple(as_taint(taint) for taint in spec.taints or ())
    is_cordoned = any(
        (taint.key, taint.effect) == (UNSCHEDULABLE.key, UNSCHEDULABLE.effect) for taint in taints
    )
    return (*taints, UNSCHEDULABLE) if spec.unschedulable and not is_cordoned else taints


def _says_not_ready(taint: Taint) -> bool:
    return taint.key in NOT_READY_KEYS and taint.effect is Effect.NO_SCHEDULE


def _is_ready(node: objects.Node) -> bool:
    conditions = (node.status and node.status.conditions) or ()
    return all(condition.status == "True" for condition in conditions if condition.type == "Ready")


def _images(status: objects.NodeStatus) -> dict[str, int]:
    return {name: one.size_bytes or 0 for one in status.images or () for name in one.names or ()}


def _capacity(status: objects.NodeStatus) -> Resources:
    field = "capacity" if status.allocatable is None else "allocatable"
    quantities = status.capacity if status.allocatable is None else status.allocatable
    amounts = read_amounts(quantities, ("status", field))
    amounts.setdefault("pods", DEFAULT_SLOTS)
    return as_resources(amounts)
