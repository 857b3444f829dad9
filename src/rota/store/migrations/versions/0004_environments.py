"""Environments are kept once each: jobs that were submitted from one shell have the same."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary

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
