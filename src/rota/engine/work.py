"""What is to be placed of a job, and where its tasks went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Devices
from rota.engine.signature import Signature
from rota.model.job import TopologyMode, TopologyRule
from rota.snapshot.nodes import NodeColumns

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Work:
    """What is to be placed of one job: per group a signature and the number of tasks."""

    signatures: tuple[Signature, ...]
    counts: tuple[int, ...]
    needed: int
    """At least so many in all, or none."""
    topology: tuple[TopologyRule, ...] = ()
    placed_at: tuple[int, ...] = ()
    """Nodes of the tasks of this job that run already."""
    is_single: bool = False
    """A job of one task, none of which runs: the most frequent kind, and the simplest to place."""

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class Seat:
    """One task's place: the group it is of, the node, and the devices there."""

    group: int
    position: int
    devices: Devices


@dataclass(eq=False)
class Apart:
    """Each task in another domain: nodes of domains that are still free."""

    domain: NDArray[np.int32]
    free: Bools

    def use(self, position: int) -> None:
        self.free = self.free & (self.domain != self.domain[position])


def apart_rules(work: Work, nodes: NodeColumns) -> list[Apart]:
    rules = []
    for rule in work.topology:
        if rule.mode is TopologyMode.DIFFERENT:
            domain = nodes.topology(rule.key).codes
            apart = Apart(domain, domain >= 0)
            for position in work.placed_at:
                apart.use(position)
            rules.append(apart)
    return rules
