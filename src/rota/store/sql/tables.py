"""What is kept: columns for what is asked by, JSON for all the rest.

Every index that jobs and events are listed by ends with their key: a page is a short stretch of it.
"""

from __future__ import annotations

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

from rota.lifecycle.state import JobState, Phase

metadata = MetaData()

_Whole = BigInteger().with_variant(Integer, "sqlite")
"""SQLite's INTEGER has 64 bits, and as a primary key it is the row's own number."""


class RoughPhase(IntEnum):
    """A job's phase, roughly: it changes once in a job's life, and so do the indexes it is in."""

    OPEN = 0
    SUCCEEDED = 1
    FAILED = 2
    """Or cancelled, or timed out."""


def rough_phase_of(state: JobState) -> RoughPhase:
    if not state.is_over:
        return RoughPhase.OPEN
    return RoughPhase.SUCCEEDED if state.phase is Phase.SUCCEEDED else RoughPhase.FAILED


counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", _Whole, nullable=False),
)

specs = Table(
    "specs",
    metadata,
    Column("id", _Whole, primary_key=True),
    Column("sha256", LargeBinary, nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),
)

labels = Table(
    "labels",
    metadata,
    Column("label", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column("spec", _Whole, ForeignKey("specs.id", ondelete="CASCADE"), primary_key=True),
    Index("labels_by_spec", "spec"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("key", _Whole, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("spec", _Whole, ForeignKey("specs.id"), nullable=False),
    Column("project", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("submitted_ms", _Whole, nullable=False),
    Column("ended_ms", _Whole),
    Column("state", LargeBinary, nullable=False),
    Index("jobs_by_project", "project", "outcome", "key"),
    Index("jobs_by_owner", "owner", "outcome", "key"),
    Index("jobs_by_queue", "queue", "outcome", "key"),
    Index("jobs_by_name", "name", "outcome", "key"),
    Index("jobs_by_run", "project", "name", "outcome", "key"),
    Index("jobs_by_phase", "phase", "key"),
    Index("jobs_by_spec", "spec", "key"),
    Index("jobs_by_submission", "submitted_ms", "key"),
    Index("jobs_by_end", "ended_ms", "key"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("job", _Whole, ForeignKey("jobs.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("fence", _Whole, primary_key=True, autoincrement=False),
    Column("rank", _Whole, nullable=False),
    Column("node", Text, nullable=False),
    Column("gpu_devices", Text, nullable=False),
    Column("bound_ms", _Whole, nullable=False),
    Column("started_ms", _Whole),
    Column("ended_ms", _Whole),
    Column("end", LargeBinary),
)
Index(
    "attempts_live",
    attempts.c.job,
    attempts.c.fence,
    sqlite_where=attempts.c.ended_ms.is_(None),
    postgresql_where=attempts.c.ended_ms.is_(None),
)

estimates = Table(
    "estimates",
    metadata,
    Column("job", _Whole, ForeignKey("jobs.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("told_ms", _Whole, primary_key=True, autoincrement=False),
    Column("started_ms", _Whole),
    Column("estimate", LargeBinary, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("seq", _Whole, primary_key=True, autoincrement=False),
    Column("at_ms", _Whole, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("project", Text),
    Column("by", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("events_by_subject", "subject", "seq"),
    Index("events_by_project", "project", "seq"),
    Index("events_by_kind", "kind", "seq"),
)

answers = Table(
    "answers",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_sha256", Text, nullable=False),
    Column("status", _Whole, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("at_ms", _Whole, nullable=False),
    Index("answers_by_age", "at_ms"),
)

records = Table(
    "records",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""What is few and always in memory: settings, projects, tokens, agents, usage, what was learnt."""

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("token", _Whole, nullable=False),
    Column("until_ms", _Whole, nullable=False),
    Column("address", Text, nullable=False),
    Column("certificate_sha256", Text, nullable=False),
)
"""Who leads, by the database's own clock."""

audit = Table(
    "audit",
    metadata,
    Column("seq", _Whole, primary_key=True, autoincrement=False),
    Column("at_ms", _Whole, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("project", Text),
    Column("details", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Index("audit_by_time", "at_ms", "seq"),
    Index("audit_by_user", "by", "seq"),
    Index("audit_by_subject", "subject", "seq"),
    Index("audit_by_project", "project", "seq"),
)
"""The audit log: who did what, and what was refused. Rows are added at the end, and never changed."""
