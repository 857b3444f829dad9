"""One rule, asked about the nodes of a cluster: who passes, who doesn't, and why."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from rota.engine.plugin import NodeFilter, NodeScore, TaskView
from rota.model.job import JobTemplate, TaskGroup
from rota.model.task import TaskSpec
from rota.model.verdict import Reason
from rota.snapshot import snapshot_of
from rota.snapshot.nodes import NodeColumns
from tests.builders import Cluster
from tests.words import TaskWords, task


class Judged:
    """What a filter says of every node. That its refusals are the complement of what passes is
    part of what a filter is, so it is checked each time."""

    def __init__(
        self, rule: NodeFilter, cluster: Cluster, exactly: TaskSpec | None = None, **words: Unpack[TaskWords]
    ) -> None:
        view, nodes = _asked(cluster, exactly or task(words))
        mask = rule.passes(view, nodes)
        self.says_all = mask is None
        passes = np.ones(len(nodes), np.bool_) if mask is None else mask
        assert passes.dtype == np.bool_
        assert passes.shape == (len(nodes),)
        refusals = list(rule.refusals(view, nodes))
        refused = np.logical_or.reduce([*(found for _, found in refusals), np.zeros(len(nodes), np.bool_)])
        assert (refused == ~passes).all()
        self.passes = [name for name, passed in zip(nodes.names, passes, strict=True) if passed]
        self.reasons: dict[str, list[Reason]] = {
            name: [reason for reason, found in refusals if found[at]]
            for at, name in enumerate(nodes.names)
            if not passes[at]
        }


def rated(
    rule: NodeScore, cluster: Cluster, exactly: TaskSpec | None = None, **words: Unpack[TaskWords]
) -> dict[str, int] | None:
    view, nodes = _asked(cluster, exactly or task(words))
    rating = rule.rate(view, nodes)
    return None if rating is None else dict(zip(nodes.names, rating.values.tolist(), strict=True))


def _asked(cluster: Cluster, spec: TaskSpec) -> tuple[TaskView, NodeColumns]:
    # The job is part of the cluster too, so that there is a row for all it asks for.
    group = TaskGroup(spec)
    snapshot = snapshot_of(cluster.job("asked", groups=[group]).records)
    return TaskView(JobTemplate((group,)), spec, snapshot.demand(spec)), snapshot.nodes
