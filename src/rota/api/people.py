"""Who may do what: roles, projects, tokens, secrets and limits."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import field

from rota.api.documents import Document


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
    """Sent back as If-Match, a change is refused if the project was changed meanwhile."""


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
    grants: dict[str, Role] = field(default_factory=dict)
    """Projects that groups of that provider give, with the role there."""


class SecretSource(Enum):
    STORE = "store"
    """Set by a member of the project, sealed in the database."""
    SETTINGS = "settings"
    """Named by an operator in the server's settings: a file, or a variable of its environment."""


class SecretDocument(Document, frozen=True, kw_only=True):
    """A secret of a project, without its value, which is never shown."""

    project: str
    name: str
    source: SecretSource
    set: datetime | None = None
    set_by: str = ""


class MeDocument(Document, frozen=True, kw_only=True):
    """Whom a token stands for."""

    user: str
    role: Role
    projects: list[str] | None
    """None: all of them."""
    csrf: str | None = None
    """Of a session in a browser: what changes send along, in the header X-CSRF-Token."""


class LimitEntry(Document, frozen=True, kw_only=True):
    limit: str
    """As the policy names it; amounts by resource, as in "at_once.cpu"."""
    value: str
    used: str | None
    """How much of it is used now; null: nothing is counted."""
    of: str
    """What the limit applies to: each "job", or all jobs of "user ada", "project vision" or "queue long"
    together."""
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


class UsageEntry(Document, frozen=True, kw_only=True):
    """What tasks held: what they asked for, for as long as they ran."""

    name: str
    """Of the project, user or queue."""
    tasks: int
    """Starts of tasks."""
    cpu_hours: float
    gpu_hours: float
    memory_gib_hours: float


class UsageDocument(Document, frozen=True, kw_only=True):
    since: datetime
    until: datetime
    by: str
    items: list[UsageEntry]
    """The largest first. Of jobs that were removed from the history, whole days count, in UTC."""


class QuotaEntry(Document, frozen=True, kw_only=True):
    resource: str
    quota: str
    """Its own."""
    held: str
    """Now."""
    borrowable: str | None
    """What it may hold beyond; null: all that others leave idle."""
    lendable: str
    """What others may have of it while it is idle."""


class TenantDocument(Document, frozen=True, kw_only=True):
    """A project, or a user within one."""

    tenant: str
    """As in "vision" or "vision/ada"."""
    weight: int
    due: float
    """Its share of the cluster, by the weights of its siblings that are listed in the policy or have used
    anything lately: 0 to 1."""
    share: float
    """What it has had lately of the resource of which it has had most: 0 to 1, and more if it borrowed."""
    quotas: list[QuotaEntry]
