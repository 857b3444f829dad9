"""Conditions on nodes' labels and names: those that must hold, and those that had better."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from rota.engine.loosening import Loosening, with_specs
from rota.engine.plugin import FULL_SCORE, Bools, Concern, NodeFilter, Rating, TaskView
from rota.model.explanation import TypedChange
from rota.model.job import JobTemplate
from rota.model.selectors import NodeTerm
from rota.model.taints import Effect, Tolerations, tolerated
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, never
from rota.snapshot.nodes import NODE_KEY, NodeColumns

_SOFT_TAINT_WEIGHT = 100


class NodeAffinityUnmet(TypedReason, frozen=True, tag="node affinity"):
    """None of the terms holds."""

    rule: ClassVar[Rule] = never("node-affinity", *CLUSTER)
    terms: tuple[NodeTerm, ...]


class DropNodeAffinity(TypedChange, frozen=True, tag="node affinity"):
    size: ClassVar[float] = 0.60


class NodeAffinityFilter(NodeFilter):
    concern = Concern.AFFINITY

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.node_affinity:
            return None
        mask = np.zeros(len(nodes), dtype=np.bool_)
        for term in task.spec.node_affinity:
            mask |= term_holds(term, nodes)
        return mask

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield NodeAffinityUnmet(task.spec.node_affinity), ~passes

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        if any(group.spec.node_affinity for group in template.groups):
            anywhere = with_specs(template, lambda spec: replace(spec, node_affinity=()))
            yield Loosening(DropNodeAffinity(), anywhere)


class NodeAffinityScore:
    """The share of the wishes about nodes that a node fulfils, by their weights. That nodes with
    an untolerated PreferNoSchedule taint be left alone is a wish of every task."""

    criterion = "affinity"

    def rate(self, task: TaskView, nodes: NodeColumns) -> Rating | None:
        wishes = [
            (preferred.weight, term_holds(preferred.term, nodes)) for preferred in task.spec.preferred_nodes
        ]
        clean = _without_soft_taints(task, nodes)
        if clean is not None:
            wishes.append((_SOFT_TAINT_WEIGHT, clean))
        total = sum(weight for weight, _ in wishes)
        if not total:
            return None
        fulfilled = np.zeros(len(nodes), dtype=np.int64)
        for weight, holds in wishes:
            fulfilled += weight * holds
        return Rating(fulfilled * FULL_SCORE // total, total)


def _without_soft_taints(task: TaskView, nodes: NodeColumns) -> Bools | None:
    """None: no node has such a taint that matters."""
    borne = Tolerations(task.spec.tolerations)
    clean = np.array(
        [
            all(taint.effect is not Effect.PREFER_NO_SCHEDULE or tolerated(taint, borne) for taint in taints)
            for taints in nodes.taint_sets
        ],
        dtype=np.bool_,
    )
    return None if clean.all() else clean[nodes.taint_set]


def term_holds(term: NodeTerm, nodes: NodeColumns) -> Bools:
    """A term without any condition holds nowhere, as in Kubernetes."""
    requirements = [(nodes.label(one.key), one) for one in term.labels.requirements]
    requirements += [(nodes.label(NODE_KEY), one) for one in term.names]
    mask = np.full(len(nodes), bool(requirements), dtype=np.bool_)
    for column, requirement in requirements:
        mask &= column.matching(requirement)
    return mask
