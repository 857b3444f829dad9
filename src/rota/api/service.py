"""The server itself: what happened, and how much there is of everything."""

from __future__ import annotations

from datetime import datetime

from rota.api.documents import Document


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


class ChangedField(Document, frozen=True, kw_only=True):
    """Of the policy, or of the settings."""

    field: str
    """As in "queues[desk].order"."""
    before: str | None
    """None: it wasn't given."""
    after: str | None
    """None: it is no longer given."""


class HomelessJobs(Document, frozen=True, kw_only=True):
    """Waiting jobs of a queue that a policy doesn't name. They don't start."""

    queue: str
    jobs: int


class ReloadDocument(Document, frozen=True, kw_only=True):
    """What reading the policy and the settings again changes."""

    policy: str
    """The file; empty: there is none."""
    changes: list[ChangedField]
    """Of the policy."""
    settings: list[ChangedField]
    """Of those that can change while the server runs."""
    restart: list[ChangedField]
    """Of those that count from the next start of the server on."""
    homeless: list[HomelessJobs]
    dry_run: bool
