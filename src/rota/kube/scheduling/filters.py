"""Rules about nodes in the order in which kube-scheduler asks them: the first that refuses a node counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rota.engine.loosening import Loosening
from rota.engine.plugin import Bools, Concern, NodeFilter, TaskView
from rota.kube_objects.selectors import named_nodes
from rota.kube_objects.taints import UNSCHEDULABLE
from rota.model.ids import NodeName
from rota.model.job import JobTemplate
from rota.model.taints import Effect, Taint, Tolerations, tolerated
from rota.model.verdict import Reason
from rota.plugins import FILTERS
from rota.plugins.node_affinity import NodeAffinityFilter
from rota.plugins.node_name import NodeNameFilter, OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady, NodeReadyFilter
from rota.plugins.node_selector import NodeSelectorFilter
from rota.plugins.taints import TaintFilter, refusals_by_taint, tolerating, untolerated
from rota.snapshot.nodes import NodeColumns


class NamedNodesFilter(NodeFilter):
    """Nodes that none of a pod's affinity terms names, where every term names some: these aren't even asked
    for anything else."""

    concern = Concern.AFFINITY

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        named = named_nodes(task.spec.node_affinity)
        if named is None:
            return None
        mask = np.zeros(len(nodes), dtype=np.bool_)
        mask[[nodes.position[NodeName(name)] for name in named if name in nodes.position]] = True
        return mask

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passing = self.passes(task, nodes)
        if passing is not None:
            yield OtherNodeNamed(), ~passing


class UnschedulableFilter(NodeFilter):
    """Cordoned nodes, for pods that don't tolerate the taint of that name."""

    concern = Concern.CONDITION

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if tolerated(UNSCHEDULABLE, task.spec.tolerations):
            return None
        return ~nodes.cordoned

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        if not tolerated(UNSCHEDULABLE, task.spec.tolerations):
            yield NodeCordoned(), nodes.cordoned

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        if nodes.cordoned.any():
            yield tolerating(template, (UNSCHEDULABLE,))


class UnreadyFilter(NodeFilter):
    """Nodes that aren't ready, where nobody has made a taint of it yet."""

    concern = Concern.CONDITION

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        return nodes.ready

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        yield NodeNotReady(), ~nodes.ready


class UntoleratedFilter(TaintFilter):
    """The first taint of a node, as they are written there, that the pod doesn't tolerate; named without its
    effect."""

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        borne = Tolerations(task.spec.tolerations)
        passing = [_first_untolerated(borne, taints) is None for taints in nodes.taint_sets]
        return np.array(passing, dtype=np.bool_)[nodes.taint_set]

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        borne = Tolerations(task.spec.tolerations)
        firsts = [_first_untolerated(borne, taints) for taints in nodes.taint_sets]
        return refusals_by_taint([untolerated(taint, None) if taint else None for taint in firsts], nodes)


def _first_untolerated(borne: Tolerations, taints: tuple[Taint, ...]) -> Taint | None:
    keeping_away = (taint for taint in taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)
    return next((taint for taint in keeping_away if not tolerated(taint, borne)), None)


_IN_KUBERNETES_ORDER: tuple[NodeFilter, ...] = (
    NamedNodesFilter(),
    UnschedulableFilter(),
    UntoleratedFilter(),
    NodeSelectorFilter(),
    NodeAffinityFilter(),
)
_INSTEAD = (NodeNameFilter, TaintFilter, NodeReadyFilter)
"""A pod that names its node itself never waits; for the others there are filters above."""

KUBE_FILTERS: tuple[NodeFilter, ...] = (
    *_IN_KUBERNETES_ORDER,
    *(one for one in FILTERS if not isinstance(one, (*_INSTEAD, NodeSelectorFilter, NodeAffinityFilter))),
    UnreadyFilter(),
)
"""Those that kube-scheduler has come first. Pools come from a policy, and readiness matters only where nobody
has made taints of it."""
