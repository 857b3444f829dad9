"""Who did what: what the audit log says."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from rota.api.documents import Document


class Verdict(StrEnum):
    DONE = "done"
    REFUSED = "refused"
    """The caller was wrong, or may not: `problem` says which."""
    FAILED = "failed"
    """The server couldn't, at the moment or at all."""


class AuditDocument(Document, frozen=True, kw_only=True):
    seq: int
    at: datetime
    verdict: Verdict
    user: str
    """Empty: the user is unknown."""
    token: str
    """The token's id, never its secret. Empty: there was none, or none that is known."""
    address: str
    """Where the call came from. Empty: from the server itself."""
    method: str
    route: str
    """The path's template, as in /v1/jobs/{job}/cancel."""
    subject: str
    """The job, node, token … that it is about: of many, the first."""
    project: str | None
    status: int
    problem: str
    """Why it was refused or failed: the last part of the problem's type, or `not-yours` for a 404 that hides
    what belongs to others."""
    detail: str
    request: str
    """The X-Request-Id of the answer."""
    times: int
    """How many calls this stands for: of many equal ones within a minute only the first have records of their
    own."""
    first_event: int | None
    """The change, as events from this one on."""
    events: int
    hash: str
    """Of this record and of the hash before it."""


class AuditCheckDocument(Document, frozen=True, kw_only=True):
    records: int
    first: int
    """The oldest record in the database; 0: there is none."""
    last: int
    head: str
    """The hash of the newest record. A copy elsewhere shows later whether the log was rewritten."""
    broken: int | None
    """The first record that doesn't follow from the one before it; null: all do."""
