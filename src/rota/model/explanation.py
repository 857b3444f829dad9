"""The answer to "why": of one job every node's verdict, the scores, and what would help."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import JobId, NodeName
from rota.model.plan import PluginFault
from rota.model.verdict import Reason, Verdict

NOW = 0
"""As a start: at once, at the moment of which the explanation is."""


class Outcome(Enum):
    PLACED = "placed"
    """This plan starts it."""
    RUNNING = "running"
    EVICTED = "evicted"
    WAITING = "waiting"


class NodeScores(Struct, frozen=True):
    """How a node was rated when the job's first task was placed. Criteria are 0 to 100; the total
    is their mean by weight, on the same scale."""

    node: NodeName
    total: float
    criteria: tuple[tuple[str, float], ...]


class RefusedNodes(Struct, frozen=True):
    reason: Reason
    nodes: tuple[NodeName, ...]


class Change(Enum):
    RESOURCE = "resource"
    """Ask for at most `amount` of `subject` (it asked for `asked`)."""
    GANG_SIZE = "gang size"
    """Need only `amount` tasks to start (it needed `asked`)."""
    TOLERATION = "toleration"
    """Tolerate the taint `subject`."""
    NODE_SELECTOR = "node selector"
    """Don't insist on the label `subject`."""
    NODE_LABEL = "node label"
    """Put the label `subject` on the node `node`."""
    NODE_AFFINITY = "node affinity"
    """Don't insist on the node affinity `subject`."""
    POOL = "pool"
    """Allow the pool `subject`."""
    GPU_MODEL = "gpu model"
    """Allow the GPU model `subject`."""
    JOB_AFFINITY = "job affinity"
    """Don't insist on the affinity or spread `subject`."""
    EXCLUSIVE = "exclusive"
    """Don't insist on having nodes to itself."""
    PRICE = "price"
    """Pay up to `amount` an hour for a task (it allowed `asked`)."""
    TOPOLOGY = "topology"
    """Don't insist on the topology rule over `subject`."""
    PRIORITY = "priority"
    """Have the priority `amount` (it has `asked`): it could then preempt."""
    TIME_LIMIT = "time limit"
    """Have a time limit of at most `amount` ms (it has `asked`; 0: none)."""


class Remedy(Struct, frozen=True, omit_defaults=True):
    """One change with which the job would start now, or sooner than it will (or, where it never
    could, could start once there is room); found by deciding again with it."""

    change: Change
    subject: str = ""
    asked: int = 0
    amount: int = 0
    node: NodeName = NodeName("")
    starts_on: tuple[NodeName, ...] = ()
    """Where its tasks would then go."""
    evicts: tuple[JobId, ...] = ()
    start_ms: int | None = NOW
    """When it would then start; None: once there is room, and nobody can tell when that is."""


class Explanation(Struct, frozen=True):
    job: JobId
    outcome: Outcome
    nodes: tuple[NodeName, ...] = ()
    """Where its tasks run or will run, by rank."""
    verdict: Verdict | None = None
    refusals: tuple[RefusedNodes, ...] = ()
    """Of each node that doesn't take its first task, the reason; each node once."""
    scores: tuple[NodeScores, ...] = ()
    """The chosen node first, then the next best."""
    weights: tuple[tuple[str, int], ...] = ()
    remedies: tuple[Remedy, ...] = ()
    """Those first with which it would start now; the smallest changes first. To a verdict of never:
    what would make it possible at all."""
    start_ms: int | None = None
    """Of a job that waits, its place in the calendar; None: it has none."""
    promised: bool = False
    """That its user was told this start, and it will be kept."""
    faults: tuple[PluginFault, ...] = ()
    is_cut_short: bool = False
    """Time was up before every change that could help was tried."""
