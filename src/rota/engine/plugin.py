"""What a plugin is, to those who write one and to the engine that calls it.

Built-in rules that look at a node's fixed properties are `NodeFilter`s and `NodeScore`s: they
judge all nodes at once, by columns, and are asked once for each kind of task. Plugins from
outside derive from `Plugin`; they see the state as it changes and may be wrong: every call goes
through a guard, and one that fails counts as silent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeVar

import numpy as np

from rota.engine.loosening import Loosening
from rota.model.job import Job, JobTemplate
from rota.model.node import NodeSpec
from rota.model.plan import Binding
from rota.model.policy import PluginConfig
from rota.model.task import TaskSpec
from rota.model.verdict import Reason
from rota.snapshot import rows
from rota.snapshot.arrays import Bools as Bools  # for those who write plugins
from rota.snapshot.arrays import Int32s
from rota.snapshot.arrays import Int64s as Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.nodes import NodeColumns
from rota.snapshot.running import RunningTask

T = TypeVar("T")

FULL_SCORE = 1000


@dataclass(frozen=True, eq=False)
class TaskView:
    """The task a plugin judges. Equal tasks of equal jobs are judged once."""

    template: JobTemplate
    spec: TaskSpec
    demand: Demand
    now_ms: int = 0


class Concern(Enum):
    """What a filter is about, for those who need only some of them."""

    AFFINITY = "affinity"
    TAINTS = "taints"
    CONDITION = "condition"
    """A state of the node that passes."""
    OTHER = "other"


class NodeFilter(ABC):
    """Refuses nodes by what they are. `passes` decides; the others are asked only to explain."""

    concern: Concern = Concern.OTHER

    @abstractmethod
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        """Which nodes will do; None: all."""

    @abstractmethod
    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterable[tuple[Reason, Bools]]:
        """Reasons and the nodes they refuse; together the complement of `passes`."""

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterable[Loosening]:
        """Ways for a job to ask for less of this rule, each of which may let it start."""
        return ()


@dataclass(frozen=True, eq=False)
class Rating:
    values: Int64s
    weight: int = 1
    """Of all that was wished for, against wishes about other jobs that share the criterion."""


class NodeScore(Protocol):
    """Rates nodes by what they are, 0 to FULL_SCORE, under one of the criteria."""

    criterion: str

    def rate(self, task: TaskView, nodes: NodeColumns) -> Rating | None:
        """None: all alike."""
        ...


@dataclass(frozen=True, eq=False)
class StateView:
    """All nodes as they are at this moment of the decision. Arrays can't be written to."""

    nodes: NodeColumns
    free: Int64s
    gpu_free: Int32s

    def node(self, position: int) -> NodeView:
        return NodeView(self, position)


@dataclass(frozen=True, eq=False)
class NodeView:
    """One node as it is at this moment of the decision."""

    _state: StateView
    position: int

    @property
    def name(self) -> str:
        return self._state.nodes.names[self.position]

    @property
    def spec(self) -> NodeSpec:
        return self._state.nodes.specs[self.position]

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.spec.labels)

    def free(self, resource: str) -> int:
        """In base units: cpu in thousandths, memory and storage in bytes, gpu in thousandths."""
        row = self._state.nodes.index.row.get(resource)
        return 0 if row is None else int(self._state.free[row, self.position])

    def free_devices(self) -> list[int]:
        """What is left of each GPU, in thousandths."""
        count = self.spec.gpus.count
        return [int(left) for left in self._state.gpu_free[self.position, :count]]

    @property
    def task_count(self) -> int:
        free = int(self._state.free[rows.SHARES, self.position])
        # Nothing left: a task has the node to itself.
        return 1 if free <= 0 else rows.NODE_SHARES - free


class Plugin:
    """Base of plugins from outside. Override what you need; a method not overridden isn't called.

    `filter` and `score` see one node; `filter_rows` and `score_rows` see many at once and are the
    ones to override where speed counts. Results may depend on the arguments only.
    """

    name: str = ""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings

    def prepare(self, kinds: Sequence[tuple[TaskSpec, int]], nodes: NodeColumns) -> None:
        """Told once, before it is asked anything in a cycle: the nodes, and every kind of task that
        runs or waits with how many there are of it, in no particular order."""

    def filter(self, task: TaskView, node: NodeView) -> str | None:
        """Why the task may not run there; None: it may."""
        return None

    def score(self, task: TaskView, node: NodeView) -> int:
        """How good the node is for the task, 0 to FULL_SCORE."""
        return 0

    def choose_devices(self, task: TaskView, state: StateView, position: int) -> tuple[int, ...] | None:
        """Which GPUs of the node a task gets that goes there; None: those that Rota would take."""
        return None

    def on_job_scheduled(self, job: Job, bindings: Sequence[Binding]) -> None:
        """Told once bindings of the job's tasks are committed, and never of a plan that is only thought of.
        It is told at most once. It is made anew each time: what it is to remember it keeps elsewhere."""

    def filter_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Bools:
        passed = (self.filter(task, state.node(at)) is None for at in positions.tolist())
        return np.fromiter(passed, np.bool_, len(positions))

    def score_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Int64s:
        scores = (self.score(task, state.node(at)) for at in positions.tolist())
        return np.fromiter(scores, np.int64, len(positions))

    @property
    def filters(self) -> bool:
        return _overrides(self, "filter") or _overrides(self, "filter_rows")

    @property
    def scores(self) -> bool:
        return _overrides(self, "score") or _overrides(self, "score_rows")

    @property
    def prepares(self) -> bool:
        return _overrides(self, "prepare")

    @property
    def chooses_devices(self) -> bool:
        return _overrides(self, "choose_devices")

    @property
    def listens(self) -> bool:
        return _overrides(self, "on_job_scheduled")


CALLS = ("filter", "score", "choose_devices", "prepare", "on_job_scheduled")
"""What plugins are asked and told, by the names that faults have."""


def calls_of(plugin_class: type[Plugin]) -> tuple[str, ...]:
    """What a plugin does, as it overrides it."""

    def is_overridden(call: str) -> bool:
        methods = (call, f"{call}_rows") if call in ("filter", "score") else (call,)
        return any(getattr(plugin_class, one) is not getattr(Plugin, one) for one in methods)

    return tuple(call for call in CALLS if is_overridden(call))


def _overrides(plugin: Plugin, method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(Plugin, method)


Guard = Callable[[Callable[[], object]], object]
"""Calls a plugin's function and gives its result, or raises. The shell's guard has a time limit."""


def unguarded(call: Callable[[], object]) -> object:
    return call()


PluginMaker = Callable[[dict[str, str]], Plugin]


class Disruptions(Protocol):
    """Budgets of how many of some running tasks may be made to end now."""

    def broken_by(self, tasks: Sequence[RunningTask]) -> list[bool]:
        """Of tasks that would end together, the most valuable first: whose end would break a budget."""
        ...


class RefusalOrder(Enum):
    """Which reason counts for a node that several rules refuse."""

    LASTING_FIRST = "lasting first"
    """One that doesn't pass, if there is any: a node counts as hopeless if it is."""
    AS_ASKED = "as asked"
    """The first in the order of the filters, then ports, amounts (all that it lacks), spread and affinity:
    as kube-scheduler counts."""


@dataclass(frozen=True)
class Plugins:
    """All that takes part in a decision: the built-in rules in the order in which they are asked,
    and the plugins from outside that policies may name."""

    filters: tuple[NodeFilter, ...] = ()
    scores: tuple[NodeScore, ...] = ()
    by_name: Mapping[str, PluginMaker] = field(default_factory=dict)
    guard: Guard = unguarded
    refusal_order: RefusalOrder = RefusalOrder.LASTING_FIRST
    evicts_elsewhere: bool = True
    """Whether those who go for a single task may be on other nodes than it goes to, where rules about others
    would let it start then. kube-scheduler looks at one node at a time."""
    disruptions: Disruptions | None = None
    """Budgets that keep running tasks from being evicted, where there is another way."""
    asked_without_victims: tuple[type[Reason], ...] = ()
    """Nodes that refuse a single task for these reasons are asked again, as if those were gone who may have
    to go for it: plans then tell what would still be in the way, and why jobs that evict others had to."""
    jobs_scored: int = 0
    """Of so many jobs that start in a cycle the plan tells how good their nodes are."""


@dataclass(frozen=True, eq=False)
class ActivePlugin:
    plugin: Plugin
    config: PluginConfig
    is_selection: bool
    """Its score takes the place of utilisation."""


Ask = Callable[[str, str, Callable[[], object]], object | None]
"""Calls a plugin under guard; None, and a fault on record, if it fails."""
