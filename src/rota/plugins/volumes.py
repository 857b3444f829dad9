"""Nodes on which a task's volumes can't be used: out of reach, in another zone, or with none to be had."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.task import VolumeNodes
from rota.model.verdict import Code, Reason
from rota.plugins.node_affinity import term_holds
from rota.snapshot.nodes import NodeColumns


class VolumeFilter:
    concern = Concern.OTHER

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.volume_nodes:
            return None
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in task.spec.volume_nodes:
            mask &= _usable(one, nodes)
        return mask

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        """A node that some volumes can't be used on, and that has none for others, is under one reason: the
        first is its code, what else is the matter its detail."""
        refused: dict[Code, Bools] = {}
        for one in task.spec.volume_nodes:
            unusable = ~_usable(one, nodes)
            before = refused.get(one.otherwise)
            refused[one.otherwise] = unusable if before is None else before | unusable
        if not refused:
            return
        codes = [code for code in _ORDER if code in refused]
        combined = np.stack([refused[code] for code in codes])
        kinds, kind_of = np.unique(combined, axis=1, return_inverse=True)
        for kind in range(kinds.shape[1]):
            found = [code for code, is_so in zip(codes, kinds[:, kind].tolist(), strict=True) if is_so]
            if found:
                both = found[0] is Code.VOLUME_AFFINITY
                others = [code.value for code in found[1:] if both and code is not Code.VOLUME_ZONE]
                yield Reason(found[0], detail=",".join(others)), kind_of.ravel() == kind


_ORDER = (
    Code.VOLUME_LIMIT,
    Code.VOLUME_AFFINITY,
    Code.VOLUME_UNBOUND,
    Code.VOLUME_SPACE,
    Code.VOLUME_ZONE,
)


def _usable(one: VolumeNodes, nodes: NodeColumns) -> Bools:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in one.terms:
        mask |= term_holds(term, nodes)
    return mask
