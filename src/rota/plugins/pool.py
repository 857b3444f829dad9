"""Only nodes of the pools that the job, its queue and its tenant may use."""

from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace

from rota.engine.compile import NO_POOL
from rota.engine.loosening import Loosening, SpecChange, with_specs
from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.explanation import TypedChange
from rota.model.job import JobTemplate
from rota.model.selectors import Operator, Requirement
from rota.model.verdict import CLUSTER, POLICY, Reason, Rule, TypedReason, never
from rota.snapshot.nodes import NodeColumns


class NotInPool(TypedReason, frozen=True, tag="pool"):
    rule: ClassVar[Rule] = never("pool", *CLUSTER, *POLICY)
    pools: tuple[str, ...] = ()
    """Empty: job, queue and tenant have none in common."""


class AllowPool(TypedChange, frozen=True, tag="pool"):
    size: ClassVar[float] = 0.50
    pool: str


class PoolFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if not task.spec.pools:
            return None
        return nodes.pool.matching(Requirement("pool", Operator.IN, task.spec.pools))

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield NotInPool(tuple(pool for pool in task.spec.pools if pool != NO_POOL)), ~passes

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        if any(group.spec.pools for group in template.groups):
            for pool in sorted(set(nodes.pool.values)):
                yield Loosening(AllowPool(pool), with_specs(template, _allowing(pool)))


def _allowing(pool: str) -> SpecChange:
    return lambda spec: replace(spec, pools=(*spec.pools, pool)) if spec.pools else spec
