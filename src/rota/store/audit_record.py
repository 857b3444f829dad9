"""What is kept of a call that changed something or was refused, and the chain of hashes that joins records.

Each record's hash covers the record and the hash before it. Whoever changes, removes or inserts one has to
write all later ones anew; `Store.check_audit` finds one that doesn't fit.
"""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct, json

from rota.api.audit import Verdict

_encode = json.Encoder().encode


class AuditDetails(Struct, frozen=True, omit_defaults=True):
    """What nobody searches by."""

    method: str = ""
    route: str = ""
    """The path's template; empty: no call, but something that the server did by itself."""
    status: int = 0
    problem: str = ""
    """The last part of the problem's type; empty unless it was refused or failed."""
    detail: str = ""
    request: str = ""
    """The id that the answer carried."""
    times: int = 1
    """How many calls it stands for: of many equal refusals only the first have records of their own."""
    first_event: int = 0
    """The change, as events from this seq on; 0: there are none."""
    events: int = 0


class AuditRecord(Struct, frozen=True):
    at_ms: int
    verdict: Verdict
    user: str
    """Empty: nobody knows who it was."""
    token: str
    """The token's id, never its secret. Empty: there was none, or none that is known."""
    address: str
    """Where the call came from."""
    subject: str
    """The job, node, token … that it is about: of many, the first."""
    project: str | None
    details: AuditDetails = AuditDetails()


class StoredAudit(Struct, frozen=True):
    seq: int
    record: AuditRecord
    hash: bytes


class AuditCheck(Struct, frozen=True):
    records: int
    first: int
    """The oldest record that is kept: those before it were removed by age. 0: there are none."""
    last: int
    head: bytes
    """The newest record's hash: whoever notes it elsewhere can tell later whether it is still there."""
    broken: int | None = None
    """The first record that doesn't follow from the one before it; None: all do."""


def hash_of(previous: bytes, seq: int, record: AuditRecord) -> bytes:
    return sha256(previous + _encode((seq, record))).digest()
