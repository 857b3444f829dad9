"""DaemonSets: a pod for each node that it is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from rota.kube_objects.controllers.to_come import (
    TEMPLATE,
    MadePod,
    PodSet,
    PodsToCome,
    Surroundings,
    name_of,
)
from rota.kube_objects.objects.affinity import Affinity, NodeAffinity, Toleration
from rota.kube_objects.objects.controllers import DaemonSet
from rota.kube_objects.objects.pods import PodSpec
from rota.kube_objects.objects.selectors import NodeFieldRequirement, NodeSelector, NodeSelectorTerm
from rota.kube_objects.selectors import node_terms
from rota.kube_objects.taints import as_toleration
from rota.model.node import Node
from rota.model.taints import Effect, tolerated

_CONDITIONS = "node.kubernetes.io/"
_KEEP_AWAY = frozenset({Effect.NO_SCHEDULE, Effect.NO_EXECUTE})


def of_daemon_set(found: DaemonSet, around: Surroundings) -> Iterator[PodsToCome]:
    template = found.spec.template
    spec = _with_tolerations(template.spec)
    have_one = around.daemons_on(found.metadata)
    for node in around.nodes:
        if node.name not in have_one and _is_for(node, spec):
            pinned = replace(template, spec=_on(node, spec))
            pod = MadePod(f"{name_of(found)}-{node.name}")
            yield PodsToCome(pod.name, (PodSet(pinned, TEMPLATE, (pod,)),))


def _with_tolerations(spec: PodSpec) -> PodSpec:
    """As the controller adds them: such pods stay on nodes in trouble."""
    ends = [_tolerates(key, "NoExecute") for key in ("not-ready", "unreachable")]
    keys = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    if spec.host_network:
        keys.append("network-unavailable")
    more = [*ends, *(_tolerates(key, "NoSchedule") for key in keys)]
    return replace(spec, tolerations=[*(spec.tolerations or ()), *more])


def _tolerates(condition: str, effect: Literal["NoSchedule", "NoExecute"]) -> Toleration:
    return Toleration(key=f"{_CONDITIONS}{condition}", operator="Exists", effect=effect)


def _is_for(node: Node, spec: PodSpec) -> bool:
    """By its selector, its required affinity and its taints. Room doesn't matter: a pod that finds none
    waits for it."""
    labels = dict(node.spec.labels)
    if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    affinity = spec.affinity and spec.affinity.node_affinity
    terms = node_terms(affinity.required) if affinity else ()
    if terms and not any(
        term.labels.selects(node.spec.labels) and all(one.admits(node.name) for one in term.names)
        for term in terms
    ):
        return False
    tolerations = tuple(as_toleration(one) for one in spec.tolerations or ())
    return all(tolerated(taint, tolerations) for taint in node.spec.taints if taint.effect in _KEEP_AWAY)


def _on(node: Node, spec: PodSpec) -> PodSpec:
    """Its affinity names the node, instead of what it was chosen by."""
    field = NodeFieldRequirement(key="metadata.name", operator="In", values=[node.name])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field])])
    affinity = spec.affinity or Affinity()
    preferred = affinity.node_affinity.preferred if affinity.node_affinity else None
    pinned = replace(affinity, node_affinity=NodeAffinity(required=required, preferred=preferred))
    return replace(spec, affinity=pinned, node_selector=None)
