"""Clusters and what is asked of them, in short, for the benchmark of growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rota.engine import decide
from rota.engine.explaining.explain import explain
from rota.engine.plugin import Plugins
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import (
    Job,
    JobRecord,
    JobTemplate,
    Placement,
    Priority,
    TaskGroup,
)
from rota.model.node import Node, NodeSpec
from rota.model.policy import (
    Policy,
)
from rota.model.resources import Resources
from rota.model.selectors import Operator, Requirement, Selector
from rota.model.task import TaskSpec
from rota.plugins import FILTERS, SCORES
from rota.snapshot import snapshot_of

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
GIB = 1 << 30
PLUGINS = Plugins(FILTERS, SCORES)
ONE = Resources(1000, GIB)
ASKED = JobId("asked")

Action = Callable[[], object]


@dataclass(frozen=True)
class Dimension:
    """What there are many of, and how a call with so many of it is prepared."""

    operation: str
    what: str
    prepare: Callable[[int], Action]
    first: int = 16
    most: int = 1 << 14
    """Beyond that no input goes, or none that anybody has."""


# -- clusters in short


def template(*groups: TaskGroup, **fields: Any) -> JobTemplate:
    return JobTemplate(groups or (TaskGroup(TaskSpec(ONE)),), **fields)


def waiting(kind: JobTemplate, name: str = ASKED, at: int = 0) -> JobRecord:
    return JobRecord(Job(JobId(name), kind, NOW_MS - HOUR_MS + at))


def running(kind: JobTemplate, name: str, *nodes: str) -> JobRecord:
    placements = tuple(Placement(rank, NodeName(node), NOW_MS - HOUR_MS) for rank, node in enumerate(nodes))
    return JobRecord(Job(JobId(name), kind, NOW_MS - 2 * HOUR_MS), placements)


def node(name: str, cpus: int = 64, **fields: Any) -> Node:
    capacity = fields.pop("capacity", Resources(cpus * 1000, cpus * 4 * GIB, slots=100_000))
    return Node(NodeName(name), NodeSpec(capacity, **fields))


def nodes(count: int, cpus: int = 64) -> tuple[Node, ...]:
    return tuple(node(f"n{at:05}", cpus) for at in range(count))


def labelled(key: str, *values: str, operator: Operator = Operator.IN) -> Selector:
    return Selector((Requirement(key, operator, values),))


def deciding(records: ClusterRecords, policy: Policy | None = None) -> Action:
    snapshot = snapshot_of(records)
    return lambda: decide(snapshot, policy or Policy(), NOW_MS, PLUGINS)


def explaining(records: ClusterRecords, policy: Policy | None = None) -> Action:
    snapshot = snapshot_of(records)
    return lambda: explain(snapshot, policy or Policy(), NOW_MS, PLUGINS, ASKED)


def admitting(records: ClusterRecords) -> Action:
    """What a submission costs: the job alone in the cluster, from the records on."""
    return lambda: explain(snapshot_of(records), Policy(), NOW_MS, PLUGINS, ASKED)


def with_job(kind: JobTemplate, cluster: Iterable[Node] = (), *others: JobRecord) -> ClusterRecords:
    return ClusterRecords(tuple(cluster) or nodes(8), jobs=(waiting(kind), *others))


def busy(count: int, **fields: Any) -> list[JobRecord]:
    """Running jobs, 64 on each node."""
    kind = template(priority=Priority.LOW, **fields)
    return [running(kind, f"r{at:05}", f"n{at // 64:05}") for at in range(count)]
