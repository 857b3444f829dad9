"""The answer to "why": of one job every node's verdict, the scores, and what would help.

The changes that the engine itself tries are in `rota.model.changes`; plugins define their own.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from msgspec import Struct

from rota.model.ids import JobId, NodeName
from rota.model.plan import PluginFault
from rota.model.verdict import Reason, Verdict
from rota.model.vocabulary import Coded

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


class Change(Coded):
    """What all changes that may help have. Derive from `TypedChange`."""

    __slots__ = ()
    size: ClassVar[float]
    """How large it is felt to be, against giving up that fraction of what was asked for."""

    @property
    def effort(self) -> float:
        """The same, for a change that is one of many sizes by its amounts."""
        return self.size

    def includes(self, other: Change) -> bool:
        """Whether who makes this change makes the other one, too."""
        return self == other


class TypedChange(Struct, Change, frozen=True, omit_defaults=True, tag_field="code"):
    """A change with its fields. Its `tag` is the code that documents know it by."""


class Remedy(Struct, frozen=True, omit_defaults=True):
    """One change with which the job would start now, or sooner than it will (or, where it never
    could, could start once there is room); found by deciding again with it."""

    change: Change
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
