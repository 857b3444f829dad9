"""What the REST interface says. Times are in UTC, durations in seconds."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar

from msgspec import Struct

from rota.lifecycle.state import Cause, EndReason, Phase, TaskPhase
from rota.model.calendar import QueueMode

T = TypeVar("T")


class Document(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The base of all; never used by itself."""


class Page(Document, Generic[T], frozen=True, kw_only=True):
    items: list[T]
    next: str | None = None
    """The `after` of the next page; null: this is the last."""


class JobDocument(Document, frozen=True, kw_only=True):
    """A job, as a list shows it."""

    id: str
    name: str
    project: str
    user: str
    queue: str
    phase: Phase
    cause: Cause | None
    message: str
    priority: int
    labels: dict[str, str]
    array: str | None
    """The number that all jobs of its array begin with."""
    tasks: int
    tasks_running: int
    tasks_done: int
    tasks_failed: int
    nodes: list[str]
    attempt: int
    submitted: datetime
    started: datetime | None
    ended: datetime | None
    time_limit_s: float | None
    promised: datetime | None
    exit_code: int | None
    """Of the task that decided its fate, once it is over."""
    command: str
    """As one line, shortened."""

    @property
    def is_over(self) -> bool:
        return self.phase.is_terminal

    @property
    def succeeded(self) -> bool:
        return self.phase is Phase.SUCCEEDED

    waits_for: list[str] = []
    """Jobs that have to end before, and haven't yet: the first 20."""
    not_before: datetime | None = None
    """When the pause before its retry is over."""


class AttemptDocument(Document, frozen=True, kw_only=True):
    """One start of one task."""

    rank: int
    fence: int
    node: str
    gpu_devices: list[int]
    phase: TaskPhase | None
    """None: it has ended."""
    bound: datetime
    started: datetime | None
    ended: datetime | None
    reason: EndReason | None
    exit_code: int | None
    signal: int | None
    message: str
    cpu_s: float | None
    max_memory_bytes: int | None


class JobDetail(Document, frozen=True, kw_only=True):
    """A job, with all there is to know of it."""

    job: JobDocument
    spec: dict[str, object]
    """As submitted, in the form of a job file. Its environment is for its owner alone."""
    attempts: list[AttemptDocument]
    """The latest thousand."""
    depends_on: list[str]
    """Those that haven't ended yet."""
    estimate: EstimateDocument | None


class EstimateDocument(Document, frozen=True, kw_only=True):
    """When a waiting job will start, as its user is told."""

    job: str
    told: datetime
    expected: datetime | None
    bound: datetime | None
    """Not later than this in nine of ten cases."""
    latest: datetime | None
    """By the time limits alone."""
    promised: bool
    position: int | None
    """In its queue: how many wait before it."""
    reason: str | None
    """Why there is no estimate, or of what quality it is."""


class EventDocument(Document, frozen=True, kw_only=True):
    seq: int
    at: datetime
    kind: str
    """As in "job.started": what it is about, and what happened."""
    subject: str
    """The job's id, or the node's, queue's, project's … name."""
    project: str | None
    by: str
    data: dict[str, object]


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
    """What it can't do, or what is wrong with it."""
    price_per_hour: str | None = None
    """Of the whole node, as in "2.50"; null: it has none."""
    version: str = ""
    """Of what operators set of it. Sent back as If-Match, a change is refused if somebody else made one."""


class QueueDocument(Document, frozen=True, kw_only=True):
    name: str
    state: QueueMode
    since: datetime | None
    message: str
    interactive: bool
    waiting: int
    running: int
    longest_wait_s: float | None


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


class Role(Enum):
    """Each may do all that those before it may."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    PROJECT_ADMIN = "project-admin"
    OPERATOR = "operator"
    ADMIN = "admin"


class ProjectDocument(Document, frozen=True, kw_only=True):
    name: str
    description: str
    members: dict[str, Role]
    created: datetime
    version: str = ""
    """Sent back as If-Match, a change is refused if somebody else changed the project meanwhile."""


class TokenDocument(Document, frozen=True, kw_only=True):
    id: str
    user: str
    role: Role
    projects: list[str] | None
    """None: those in which its user is a member, with the role there; of operators and admins, all."""
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    parent: str | None = None
    """The token that it was made with: it is valid only while that one is, and may do no more."""
    secret: str | None = None
    """Only in the answer that creates it."""
    origin: str | None = None
    """The provider that its user signed in with; None: it was made by hand."""
    grants: dict[str, Role] = {}
    """Projects that groups of that provider give, with the role there."""


class SecretSource(Enum):
    STORE = "store"
    """Set by a member of the project, sealed in the database."""
    SETTINGS = "settings"
    """Named by an operator in the server's settings: a file, or a variable of its environment."""


class SecretDocument(Document, frozen=True, kw_only=True):
    """That a project has a secret. Nobody is shown its value."""

    project: str
    name: str
    source: SecretSource
    set: datetime | None = None
    set_by: str = ""


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
    joined: datetime
    invited_by: str
    expires: datetime
    """Its certificate: renewed by itself when a third of its life is left."""
    last_heartbeat: datetime | None
    """Since the server started."""
    version: str
    clock_skew_s: float | None
    """How far its clock is ahead of the server's."""
    revoked: datetime | None
    revoked_by: str


class EfficiencyDocument(Document, frozen=True, kw_only=True):
    """What a job used, against what it asked for."""

    job: str
    wall_s: float
    cpu_asked_s: float
    cpu_used_s: float
    memory_asked_bytes: int
    memory_used_bytes: int
    time_limit_s: float | None


class ChangeDocument(Document, frozen=True, kw_only=True):
    """What a change did, or, in a dry run, would do."""

    dry_run: bool
    changed: list[str]
    """Ids or names."""
    message: str = ""


class SubmittedEntry(Document, frozen=True, kw_only=True):
    """One job as it was submitted, or a whole array."""

    id: str
    """Of the job; of an array, the number that all of its jobs begin with."""
    name: str
    count: int
    """How many jobs it is."""
    first: str
    last: str
    """Ids of its first and last job."""
    is_array: bool


class Submitted(Document, frozen=True, kw_only=True):
    dry_run: bool
    jobs: list[JobDocument]
    """The first 1,000; `entries` tell of all."""
    warnings: list[str]
    count: int
    """Of jobs, elements of arrays included."""
    entries: list[SubmittedEntry]
    """As many as were submitted, in their order."""


class MeDocument(Document, frozen=True, kw_only=True):
    """Whom a token stands for."""

    user: str
    role: Role
    projects: list[str] | None
    """None: all of them."""


class LimitEntry(Document, frozen=True, kw_only=True):
    limit: str
    """As the policy names it; amounts by resource, as in "at_once.cpu"."""
    value: str
    used: str | None
    """How much of it is used now; null: nothing is counted."""
    of: str
    """What is meant: each "job", or all of "user ada", "project vision" or "queue long" together."""
    set_by: str
    """Where it stands in the policy: one of these, "default", or "built in"."""


class LimitsDocument(Document, frozen=True, kw_only=True):
    """What a user may ask for and hold in one project, and what queues allow."""

    user: str
    project: str
    """Empty: the user is in none."""
    exempt: bool
    """An operator or admin, who is held to no default."""
    limits: list[LimitEntry]


class SchedulingDocument(Document, frozen=True, kw_only=True):
    cycles: int
    """Since the server started."""
    last_cycle: datetime | None
    last_cycle_s: float | None


class StatsDocument(Document, frozen=True, kw_only=True):
    pending: int
    running: int
    finished: int
    nodes: int
    scheduling: SchedulingDocument
    version: str


class Problem(Document, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str
    """A path of the documentation, as in "/problems/bad-input"."""
    title: str
    status: int
    detail: str
    instance: str
    field: str | None = None
    """Where in the request, as in "jobs[3].resources.cpu"."""
    help: str | None = None
    """What to do."""
    data: dict[str, object] | None = None
    """What else there is to know: of a refused extension, what is in the way."""
