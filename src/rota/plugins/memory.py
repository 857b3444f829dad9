"""Machines whose memory is full of other things take nothing new.

What other programs take counts as taken wherever there is room to be found. This is for tasks that ask for no
memory at all: they need some as well.
"""

from collections.abc import Iterator
from typing import ClassVar

from rota.engine.plugin import Bools, Concern, NodeFilter, TaskView
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, not_now
from rota.snapshot import rows
from rota.snapshot.nodes import NodeColumns


class MemoryFull(TypedReason, frozen=True, tag="memory full"):
    rule: ClassVar[Rule] = not_now("memory", *CLUSTER)


class MemoryFilter(NodeFilter):
    concern = Concern.CONDITION

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        return ~_full(nodes) if nodes.memory_others.any() else None

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        yield MemoryFull(), _full(nodes)


def _full(nodes: NodeColumns) -> Bools:
    others = nodes.memory_others
    full: Bools = (others > 0) & (others >= nodes.capacity[rows.MEMORY])
    return full
