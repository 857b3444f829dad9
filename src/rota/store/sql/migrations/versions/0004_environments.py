"""Environments are kept once each: jobs that were submitted from one shell have the same. And what jobs used
that were removed, by day."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text

revision = "0004"
down_revision = "0003"

_Whole = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "environments",
        Column("id", _Whole, primary_key=True),
        Column("sha256", LargeBinary, nullable=False, unique=True),
        Column("body", LargeBinary, nullable=False),
    )
    # Those that are there stay where they are, within their specs.
    op.add_column("specs", Column("environment", _Whole))
    op.create_index("specs_by_environment", "specs", ["environment"])
    op.create_table(
        "usage_days",
        Column("day_ms", _Whole, primary_key=True, autoincrement=False),
        Column("project", Text, primary_key=True),
        Column("owner", Text, primary_key=True),
        Column("queue", Text, primary_key=True),
        Column("tasks", _Whole, nullable=False),
        Column("cpu_ms", _Whole, nullable=False),
        Column("gpu_ms", _Whole, nullable=False),
        Column("memory_mib_s", _Whole, nullable=False),
    )
