"""The first schema."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    text,
)

revision = "0001"
down_revision = None

_Whole = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "counters",
        Column("name", Text, primary_key=True),
        Column("value", _Whole, nullable=False),
    )
    op.create_table(
        "specs",
        Column("id", _Whole, primary_key=True),
        Column("sha256", LargeBinary, nullable=False, unique=True),
        Column("body", LargeBinary, nullable=False),
    )
    op.create_table(
        "labels",
        Column("label", Text, primary_key=True),
        Column("value", Text, primary_key=True),
        Column("spec", _Whole, ForeignKey("specs.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("labels_by_spec", "labels", ["spec"])
    _create_jobs()
    _create_of_jobs()
    op.create_table(
        "events",
        Column("seq", _Whole, primary_key=True, autoincrement=False),
        Column("at_ms", _Whole, nullable=False),
        Column("kind", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("project", Text),
        Column("by", Text, nullable=False),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_index("events_by_subject", "events", ["subject", "seq"])
    op.create_index("events_by_project", "events", ["project", "seq"])
    op.create_index("events_by_kind", "events", ["kind", "seq"])
    op.create_table(
        "answers",
        Column("scope", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        Column("request_sha256", Text, nullable=False),
        Column("status", _Whole, nullable=False),
        Column("body", LargeBinary, nullable=False),
        Column("at_ms", _Whole, nullable=False),
    )
    op.create_index("answers_by_age", "answers", ["at_ms"])
    op.create_table(
        "records",
        Column("kind", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("body", LargeBinary, nullable=False),
    )


def _create_jobs() -> None:
    op.create_table(
        "jobs",
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
    )
    op.create_index("jobs_by_project", "jobs", ["project", "outcome", "key"])
    op.create_index("jobs_by_owner", "jobs", ["owner", "outcome", "key"])
    op.create_index("jobs_by_queue", "jobs", ["queue", "outcome", "key"])
    op.create_index("jobs_by_name", "jobs", ["name", "outcome", "key"])
    op.create_index("jobs_by_run", "jobs", ["project", "name", "outcome", "key"])
    op.create_index("jobs_by_phase", "jobs", ["phase", "key"])
    op.create_index("jobs_by_spec", "jobs", ["spec", "key"])
    op.create_index("jobs_by_submission", "jobs", ["submitted_ms", "key"])
    op.create_index("jobs_by_end", "jobs", ["ended_ms", "key"])


def _job() -> ForeignKey:
    return ForeignKey("jobs.key", ondelete="CASCADE")


def _create_of_jobs() -> None:
    op.create_table(
        "attempts",
        Column(
            "job", _Whole, ForeignKey("jobs.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        Column("fence", _Whole, primary_key=True, autoincrement=False),
        Column("rank", _Whole, nullable=False),
        Column("node", Text, nullable=False),
        Column("gpu_devices", Text, nullable=False),
        Column("bound_ms", _Whole, nullable=False),
        Column("started_ms", _Whole),
        Column("ended_ms", _Whole),
        Column("end", LargeBinary),
    )
    live = text("ended_ms IS NULL")
    op.create_index("attempts_live", "attempts", ["job", "fence"], sqlite_where=live, postgresql_where=live)
    op.create_table(
        "estimates",
        Column(
            "job", _Whole, ForeignKey("jobs.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        Column("told_ms", _Whole, primary_key=True, autoincrement=False),
        Column("started_ms", _Whole),
        Column("estimate", LargeBinary, nullable=False),
    )
