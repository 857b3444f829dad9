"""The parts of a cluster: nodes, agents, queues, maintenance and reservations."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import field

from rota.api.documents import Document
from rota.model.calendar import QueueMode


class NodeDocument(Document, frozen=True, kw_only=True):
    name: str
    backend: str
    pool: str
    ready: bool
    cordoned: bool
    draining: bool
    labels: dict[str, str]
    taints: list[str]
    capacity: dict[str, float | int]
    used: dict[str, float | int]
    gpus: int
    gpus_used: float
    gpu_model: str
    tasks: int
    load: float
    message: str
    """What the node can't do, or a problem of the node."""
    price_per_hour: str | None = None
    """Of the whole node, as in "2.50"; null: it has none."""
    gpu_shares: list[float] = field(default_factory=list)
    """Of each device, by its number, how much is taken: 0.3 is a share, 1 all of it."""
    memory_used: int | None = None
    """Measured, in bytes, by whomever; null: nobody measures it."""
    memory_others: int = 0
    """What programs that aren't tasks take of the memory: jobs get less by that."""
    version: str = ""
    """Version of the settings by operators. Sent back as If-Match, a change is refused if the settings were
    changed meanwhile."""


class QueueDocument(Document, frozen=True, kw_only=True):
    name: str
    state: QueueMode
    since: datetime | None
    message: str
    interactive: bool
    waiting: int
    running: int
    longest_wait_s: float | None
    timeout_s: float | None = None
    """How long a job may wait for its first start, if it doesn't say so itself; null: for ever."""


class MaintenanceDocument(Document, frozen=True, kw_only=True):
    name: str
    start: datetime
    end: datetime
    nodes: list[str]


class ReservationDocument(Document, frozen=True, kw_only=True):
    name: str
    start: datetime
    end: datetime
    nodes: list[str]
    tenants: list[str]
    resources: dict[str, float | int] | None
    gpus: int


class InvitationDocument(Document, frozen=True, kw_only=True):
    """What one agent may join with, once."""

    id: str
    name: str | None
    """What the agent will be called; null: as it says itself."""
    pool: str | None
    labels: dict[str, str]
    taints: list[str]
    expires: datetime
    token: str | None = None
    """For `rota agent join`. Only in the answer that creates it."""


class AgentState(Enum):
    CONNECTED = "connected"
    AWAY = "away"
    EXPIRED = "expired"
    """Its certificate has: it has to join again."""
    REVOKED = "revoked"


class AgentDocument(Document, frozen=True, kw_only=True):
    name: str
    state: AgentState
    pool: str | None
    labels: dict[str, str]
    taints: list[str]
    joined: datetime | None
    """None: it hasn't, and needn't: it is on the server's own machine."""
    invited_by: str
    expires: datetime | None
    """Its certificate: renewed by itself when a third of its life is left. None: it has none."""
    last_heartbeat: datetime | None
    """Since the server started."""
    version: str
    clock_skew_s: float | None
    """How far its clock is ahead of the server's."""
    revoked: datetime | None
    revoked_by: str
    capacity: dict[str, float | int] = field(default_factory=dict)
    """What jobs may have of it; empty: it isn't in the pool."""
    used: dict[str, float | int] = field(default_factory=dict)
    """What they have asked for of that."""
    load: float | None = None
    """Measured, of its CPUs, 0 to 1; null: it isn't in the pool."""
    memory_used: int | None = None
    """Measured, in bytes, by whomever; null: nobody measures it."""
    tasks: int = 0
    runs: list[str] = field(default_factory=list)
    """The jobs, or actions, of these tasks that you may see, at most 100."""
