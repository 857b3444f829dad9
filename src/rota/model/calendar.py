"""Entries of the calendar besides jobs: what is announced ahead for nodes and queues."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Placement
from rota.model.resources import Resources


class Maintenance(Struct, frozen=True, omit_defaults=True):
    """Nothing runs on these nodes in this time; what still runs when it begins is ended or goes
    back to the queue, as its job says."""

    name: str
    start_ms: int
    end_ms: int
    nodes: tuple[NodeName, ...] = ()
    """Empty: all of them."""


class Reservation(Struct, frozen=True, omit_defaults=True):
    """Nodes, or a share of each, that are kept for some tenants in a period. A job uses it by
    naming it: it then runs inside of it, and nowhere else."""

    name: str
    start_ms: int
    end_ms: int
    nodes: tuple[NodeName, ...]
    tenants: tuple[str, ...]
    """Paths: a project ("vision") or a user within one ("vision/ada")."""
    share: Resources | None = None
    """Of each node; None: the whole node."""
    gpus: int = 0
    """With a share: so many devices of each node, those with the highest numbers."""

    def is_for(self, project: str, user: str) -> bool:
        return project in self.tenants or f"{project}/{user}" in self.tenants


class QueueMode(Enum):
    OPEN = "open"
    PAUSED = "paused"
    """Takes jobs and starts none, but for those that were promised a start."""
    CLOSED = "closed"
    """Takes no jobs; those that wait in it still start."""


class QueueState(Struct, frozen=True, omit_defaults=True):
    """What an operator has done to a queue. A queue without a state is open."""

    name: QueueName
    mode: QueueMode
    since_ms: int = 0
    message: str = ""


class PlannedStart(Struct, frozen=True, omit_defaults=True):
    """A waiting job's place in the calendar: its start if everybody keeps to the limits, or, where
    the queue plans with learnt run times, if everybody runs for as long as is expected."""

    job: JobId
    start_ms: int
    placements: tuple[Placement, ...] = ()
    promised: bool = False
    """Its user is told so: later decisions keep to it."""
