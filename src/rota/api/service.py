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
