"""The audit log: who did what, and what was refused."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Text

revision = "0003"
down_revision = "0002"

_Whole = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
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
    )
    op.create_index("audit_by_time", "audit", ["at_ms", "seq"])
    op.create_index("audit_by_user", "audit", ["by", "seq"])
    op.create_index("audit_by_subject", "audit", ["subject", "seq"])
    op.create_index("audit_by_project", "audit", ["project", "seq"])
