"""Single objects of a live cluster as the model has them."""

from __future__ import annotations

import structlog
from msgspec.structs import replace

from rota.intake.errors import InputError
from rota.kube.mirror.reasons import Misread
from rota.kube_objects.errors import FieldError
from rota.kube_objects.nodes import as_node
from rota.kube_objects.objects.nodes import Node, NodeSpec
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import PodReader, PodTask
from rota.kube_objects.taints import as_taint
from rota.model.node import Node as ModelNode
from rota.model.taints import Effect

log = structlog.get_logger()

_NEVER_MS = 2**62


def read_node(node: Node) -> ModelNode | None:
    """None: nothing can be made of it, and nobody is put there."""
    try:
        return _without_ends(_with_cordon(as_node(node), node.spec))
    except FieldError as error:
        log.warning("kube.node_unreadable", node=node.metadata.name, why=problem_of(error))
        return None


def _with_cordon(node: ModelNode, spec: NodeSpec | None) -> ModelNode:
    """In a live cluster `unschedulable` is one thing, and a taint of that name another: a spread that honours
    taints counts a cordoned node until a controller has given it the taint."""
    written = tuple(as_taint(taint) for taint in (spec and spec.taints) or ())
    cordoned = bool(spec and spec.unschedulable)
    return replace(node, spec=replace(node.spec, taints=written), cordoned=cordoned)


def read_pod(pod: Pod, reader: PodReader, min_available_key: str) -> tuple[PodTask, Misread | None]:
    """An annotation that can't be used is told, and the pod goes with all of its gang.

    FieldError: it can't be used at all.
    """
    try:
        return reader.read(pod), None
    except FieldError as error:
        if error.path != ("metadata", "annotations", min_available_key):
            raise
        misread = Misread(problem_of(error), "all pods of the gang start together")
    others = {
        key: value for key, value in (pod.metadata.annotations or {}).items() if key != min_available_key
    }
    pod = replace(pod, metadata=replace(pod.metadata, annotations=others))
    return reader.read(pod), misread


def problem_of(error: FieldError) -> str:
    return str(InputError("", error.problem, error.remedy, path=error.path))


def _without_ends(node: ModelNode) -> ModelNode:
    """Pods that a NoExecute taint drives out are the business of a controller of the cluster: to us such a
    taint keeps new ones away, and never becomes due."""
    taints = tuple(
        replace(taint, added_ms=_NEVER_MS)
        if taint.effect is Effect.NO_EXECUTE
        else replace(taint, added_ms=0)
        for taint in node.spec.taints
    )
    return node if taints == node.spec.taints else replace(node, spec=replace(node.spec, taints=taints))
