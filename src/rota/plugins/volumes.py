"""Nodes on which a task's volumes can't be used: out of reach, in another zone, or with none to be had."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.reasons import (
    NoSpaceForVolume,
    NoVolumeToBind,
    TooManyVolumes,
    VolumeInOtherZone,
    VolumeOutOfReach,
)
from rota.model.task import VolumeNodes, VolumeTrouble
from rota.model.verdict import Reason
from rota.plugins.node_affinity import term_holds
from rota.snapshot.nodes import NodeColumns

_REASONS = {
    VolumeTrouble.LIMIT: TooManyVolumes(),
    VolumeTrouble.OUT_OF_REACH: VolumeOutOfReach(),
    VolumeTrouble.UNBOUND: NoVolumeToBind(),
    VolumeTrouble.SPACE: NoSpaceForVolume(),
    VolumeTrouble.ZONE: VolumeInOtherZone(),
}
"""The first of them counts for a node."""
_NAMED_BESIDES = (VolumeTrouble.UNBOUND, VolumeTrouble.SPACE)


class VolumeFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.volume_nodes:
            return None
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in task.spec.volume_nodes:
            mask &= _usable(one, nodes)
        return mask

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        """A node that some volumes are out of the reach of, and that has none for others, is under one
        reason, which names both."""
        refused: dict[VolumeTrouble, Bools] = {}
        for one in task.spec.volume_nodes:
            unusable = ~_usable(one, nodes)
            before = refused.get(one.otherwise)
            refused[one.otherwise] = unusable if before is None else before | unusable
        if not refused:
            return
        troubles = [trouble for trouble in _REASONS if trouble in refused]
        combined = np.stack([refused[trouble] for trouble in troubles])
        kinds, kind_of = np.unique(combined, axis=1, return_inverse=True)
        for kind in range(kinds.shape[1]):
            found = [one for one, is_so in zip(troubles, kinds[:, kind].tolist(), strict=True) if is_so]
            if found:
                yield _reason(found), kind_of.ravel() == kind


def _reason(found: list[VolumeTrouble]) -> Reason:
    if found[0] is VolumeTrouble.OUT_OF_REACH:
        return VolumeOutOfReach(tuple(one for one in found[1:] if one in _NAMED_BESIDES))
    return _REASONS[found[0]]


def _usable(one: VolumeNodes, nodes: NodeColumns) -> Bools:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in one.terms:
        mask |= term_holds(term, nodes)
    return mask
