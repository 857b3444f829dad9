"""Several servers: who leads."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text

revision = "0002"
down_revision = "0001"

_Whole = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "leases",
        Column("name", Text, primary_key=True),
        Column("holder", Text, nullable=False),
        Column("token", _Whole, nullable=False),
        Column("until_ms", _Whole, nullable=False),
        Column("address", Text, nullable=False),
        Column("certificate_sha256", Text, nullable=False),
    )
