"""What is written in one transaction: events, and what they changed."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from rota.api.people import Role
from rota.lifecycle.state import JobState, TaskEnd
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import TenantUsage
from rota.model.estimate import Estimate
from rota.model.ids import JobId, Labels, NodeName
from rota.model.taints import Taint
from rota.store.audit_record import AuditRecord


class EventRow(Struct, frozen=True):
    at_ms: int
    kind: str
    """What it is about, and what happened: "job.Started"."""
    subject: str
    project: str | None
    by: str
    data: bytes
    """JSON."""


class StoredEvent(Struct, frozen=True):
    seq: int
    row: EventRow


class Attempt(Struct, frozen=True):
    """One start of one task: what is charged for, from `started_ms` to `ended_ms`."""

    job: JobId
    rank: int
    fence: int
    node: NodeName
    gpu_devices: tuple[int, ...]
    bound_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    end: TaskEnd | None = None


class NodeSettings(Struct, frozen=True, omit_defaults=True):
    """What operators have done to a node; all else is reported by its backend."""

    name: NodeName
    cordoned: bool = False
    draining: bool = False
    """What runs there may end; then nothing does."""
    taints: tuple[Taint, ...] = ()
    message: str = ""


class Project(Struct, frozen=True):
    name: str
    description: str
    created_ms: int
    members: tuple[tuple[str, Role], ...] = ()


class Token(Struct, frozen=True):
    id: str
    secret_sha256: str
    user: str
    role: Role
    projects: tuple[str, ...] | None
    """None: where its user is a member, with the role there."""
    created_ms: int
    expires_ms: int | None = None
    parent: str = ""
    """The id of the token that it was made with: it is valid only while that one is. Empty: it has none."""
    origin: str = ""
    """The provider that its user signed in with; empty: nobody signed in for it."""
    grants: tuple[tuple[str, Role], ...] = ()
    """Projects that it is for besides those its user is a member of, each with the role there: what groups
    of the provider give."""
    browser: bool = False
    """A session: its secret counts as a cookie, and only as a cookie."""


class Secret(Struct, frozen=True):
    """Of a project. Its value is sealed with a key that isn't in the database."""

    project: str
    name: str
    sealed: bytes
    set_ms: int
    set_by: str


class AgentNode(Struct, frozen=True, omit_defaults=True):
    """What operators say of the node that an agent is, on top of what it reports itself."""

    pool: str = ""
    """Empty: as it says itself."""
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    price_micro_per_hour: int = 0


class JoinToken(Struct, frozen=True, omit_defaults=True):
    """An invitation for one agent. It is kept until it expires, so that an answer that was lost can be
    given again."""

    id: str
    proof_key: bytes
    """What is kept of its secret."""
    made_by: str
    made_ms: int
    expires_ms: int
    name: str = ""
    """What the agent is to be called; empty: as it says itself."""
    node: AgentNode = AgentNode()
    used_by: str = ""
    """The agent that joined with it."""


class IssuedCertificate(Struct, frozen=True):
    serial: str
    key_sha256: str
    """Of the agent's key: who asks twice for the same gets the same."""
    pem: str
    expires_ms: int


class Agent(Struct, frozen=True, omit_defaults=True):
    name: str
    joined_ms: int
    invited_by: str
    certificates: tuple[IssuedCertificate, ...]
    """Those that count, the latest last: the one before it is still good, as its answer may be lost."""
    node: AgentNode = AgentNode()
    revoked_ms: int | None = None
    revoked_by: str = ""


class ToldEstimate(Struct, frozen=True):
    job: JobId
    estimate: Estimate
    started_ms: int | None = None
    """When it then did start: how far off it was."""


class Answer(Struct, frozen=True):
    """To a request with an idempotency key: the same key gets the same answer."""

    scope: str
    """The user it belongs to."""
    key: str
    request_sha256: str
    status: int
    body: bytes
    at_ms: int


class Removal(Enum):
    MAINTENANCE = "maintenance"
    RESERVATION = "reservation"
    PROJECT = "project"
    TOKEN = "token"
    NODE_SETTINGS = "node settings"
    JOIN_TOKEN = "join token"
    AGENT = "agent"
    SECRET = "secret"
    """By project/name."""


_OF_CLUSTER = frozenset((Removal.MAINTENANCE, Removal.RESERVATION, Removal.AGENT, Removal.NODE_SETTINGS))


class Batch(Struct):
    """All of it is kept, or nothing is."""

    events: list[EventRow] = field(default_factory=list)
    jobs: list[JobState] = field(default_factory=list)
    """New ones, and new versions of those that are there."""
    attempts: list[Attempt] = field(default_factory=list)
    node_settings: list[NodeSettings] = field(default_factory=list)
    queues: list[QueueState] = field(default_factory=list)
    maintenance: list[Maintenance] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    join_tokens: list[JoinToken] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)
    usage: list[TenantUsage] = field(default_factory=list)
    estimates: list[ToldEstimate] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    removed: list[tuple[Removal, str]] = field(default_factory=list)
    audit: list[AuditRecord] = field(default_factory=list)
    """Their events are counted from the first of this batch."""
    learnt: bytes | None = None
    """What was learnt of run times and starts."""

    @property
    def changes_cluster(self) -> bool:
        """Whether nodes or the calendar are others with it."""
        return bool(
            self.node_settings
            or self.queues
            or self.maintenance
            or self.reservations
            or self.agents
            or any(kind in _OF_CLUSTER for kind, _ in self.removed)
        )

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in self.__struct_fields__)
