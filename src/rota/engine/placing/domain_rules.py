"""What a kind of task demands of others around it, compiled: affinity, anti-affinity, spread, and wishes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from rota.engine.placing.selected import Group, affinity_group
from rota.engine.placing.topology import (
    SPREAD_WISH_WEIGHT,
    Away,
    Counter,
    DomainRules,
    Even,
    Few,
    Near,
    Topology,
    Wish,
)
from rota.engine.plugin import Concern, NodeFilter, TaskView
from rota.model.task import Spread
from rota.snapshot.arrays import Bools
from rota.snapshot.nodes import NODE_KEY, NodeColumns


def compile_rules(
    task: TaskView, topology: Topology, nodes: NodeColumns, filters: Sequence[NodeFilter]
) -> DomainRules:
    spec, namespace = task.spec, task.template.namespace
    near, away, wishes = [], [], []
    company: defaultdict[Group, list[Counter]] = defaultdict(list)
    for term in spec.job_affinity:
        group = affinity_group(term, namespace)
        counter = topology.members(group, term.topology_key)
        if term.weight is not None:
            wishes.append(Wish(term.weight, term.anti, counter))
        elif term.anti:
            away.append(Away(term, counter))
        else:
            company[group].append(counter)
            near.append(Near(term, counter, group.includes(namespace, spec.labels), company[group]))
    away += [Away(None, counter) for counter in topology.owned_against(namespace, spec.labels)]
    even = []
    # A node that lacks a key of one spread can't be used: it counts for none.
    required = [nodes.topology(one.topology_key).codes >= 0 for one in spec.spread if one.required]
    with_keys = np.logical_and.reduce(required) if len(required) > 1 else None
    for spread in spec.spread:
        group = Group(spread.selector, (namespace,))
        counter = topology.members(group, spread.topology_key)
        eligible = _spread_nodes(spread, task, nodes, filters)
        if with_keys is not None and spread.required:
            eligible &= with_keys
        domains = counter.domain[eligible & counter.has_key]
        even.append(
            Even(
                spread.max_skew,
                spread.min_domains,
                spread.topology_key,
                spread.required,
                counter,
                group.includes(namespace, spec.labels),
                np.unique(domains).astype(np.int64),
                None if eligible.all() else eligible,
                topology.members(group, NODE_KEY),
            )
        )
    few = [
        Few(rule, topology.members(Group(rule.selector, (namespace,)), rule.topology_key))
        for rule in spec.in_domains
    ]
    soft = sum(not rule.required for rule in even)
    wish_weight = sum(wish.weight for wish in wishes) + SPREAD_WISH_WEIGHT * soft
    return DomainRules(tuple(near), tuple(away), tuple(even), tuple(wishes), wish_weight, tuple(few))


def _spread_nodes(spread: Spread, task: TaskView, nodes: NodeColumns, filters: Sequence[NodeFilter]) -> Bools:
    """Nodes that count for a spread, by the filters that it honours."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    for one in filters:
        if one.concern in _honoured(spread):
            passes = one.passes(task, nodes)
            if passes is not None:
                mask &= passes
    return mask


def _honoured(spread: Spread) -> set[Concern]:
    concerns = {Concern.AFFINITY} if spread.honor_affinity else set()
    return concerns | {Concern.TAINTS} if spread.honor_taints else concerns
