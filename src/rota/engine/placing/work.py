"""What is to be placed of a job, and where its tasks went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rota.engine.placing.board import Devices
from rota.engine.placing.signature import Signature
from rota.model.job import TopologyMode, TopologyRule
from rota.snapshot.arrays import Bools, Int32s, Int64s
from rota.snapshot.nodes import NodeColumns
from rota.snapshot.waiting import LaneKey


@dataclass(frozen=True, eq=False)
class Work:
    """What is to be placed of one job: per kind of task a signature and the number of tasks.

    Groups of the job that nothing in the cluster can tell apart, such as those of pods that differ in a
    label which no rule asks about, are one kind.
    """

    signatures: tuple[Signature, ...]
    counts: tuple[int, ...]
    needed: int
    """At least so many in all, or none."""
    topology: tuple[TopologyRule, ...] = ()
    placed_at: tuple[int, ...] = ()
    """Nodes of the tasks of this job that run already."""
    is_single: bool = False
    """A job of one task, none of which runs: the most frequent kind, and the simplest to place."""
    kind_of_group: tuple[int, ...] = (0,)
    """Of each group of the job, which of these kinds it is of."""

    @property
    def total(self) -> int:
        return sum(self.counts)

    def ranks_by_kind(self, key: LaneKey) -> list[Iterator[int]]:
        """The ranks of the tasks that wait, kind by kind."""
        ranks: list[list[range | list[int]]] = [[] for _ in self.signatures]
        for kind, waiting in zip(self.kind_of_group, key.ranks_by_group(), strict=True):
            ranks[kind].append(waiting)
        return [chain.from_iterable(one) for one in ranks]


def least_need(work: Work) -> Int64s:
    """[row] what the cluster as a whole must have free for the least of the work: never too much."""
    if len(work.signatures) == 1:
        return work.signatures[0].demand.take * work.needed
    takes = np.stack([signature.demand.take for signature in work.signatures])
    if work.needed == work.total:
        whole: Int64s = np.array(work.counts) @ takes
        return whole
    least: Int64s = takes.min(axis=0) * work.needed
    return least


@dataclass(frozen=True, eq=False)
class Seat:
    """One task's place: the kind of task it is, the node, and the devices there."""

    group: int
    position: int
    devices: Devices


@dataclass(eq=False)
class Apart:
    """Each task in another domain: nodes of domains that are still free."""

    domain: Int32s
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
