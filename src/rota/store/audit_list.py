"""The audit log as a table: written at its end, read newest first, checked, and pruned from its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from msgspec import Struct, json
from msgspec.structs import replace
from sqlalchemy import Connection, bindparam, delete, func, select

from rota.api.audit import Verdict
from rota.store.audit_record import AuditCheck, AuditDetails, AuditRecord, StoredAudit, hash_of
from rota.store.errors import BadCursor
from rota.store.reading.scan import EVERYTHING, MAX_STRETCHES, Check, Path, Scan, Span
from rota.store.sql.tables import audit, counters

AUDIT = "audit"
"""The counter of records: the latest one's seq."""
_CHECKED_AT_ONCE = 5_000
_INDEXED = frozenset(("by", "subject", "project"))
"""Each index costs every change a little. By the rest one reads backwards from the newest, page by page."""

_encode = json.Encoder().encode
_details = json.Decoder(AuditDetails)


class AuditFilter(Struct, frozen=True, omit_defaults=True):
    """None restricts nothing; an empty tuple admits nothing."""

    user: str | None = None
    token: str | None = None
    address: str | None = None
    subject: str | None = None
    verdict: Verdict | None = None
    projects: tuple[str, ...] | None = None
    from_ms: int | None = None
    before_ms: int | None = None

    def admits(self, record: AuditRecord) -> bool:
        return (
            all(
                wanted is None or wanted == is_so
                for wanted, is_so in (
                    (self.user, record.user),
                    (self.token, record.token),
                    (self.address, record.address),
                    (self.subject, record.subject),
                    (self.verdict, record.verdict),
                )
            )
            and (self.projects is None or record.project in self.projects)
            and (self.from_ms is None or record.at_ms >= self.from_ms)
            and (self.before_ms is None or record.at_ms < self.before_ms)
        )


ALL_RECORDS = AuditFilter()


class AuditPage(NamedTuple):
    """Newest first. May hold less than was asked for, or nothing, and yet not be the last."""

    records: list[StoredAudit]
    next: str | None


_COLUMNS = (
    audit.c.at_ms,
    audit.c.verdict,
    audit.c.by,
    audit.c.token,
    audit.c.address,
    audit.c.subject,
    audit.c.project,
)
_SCAN = Scan(audit.c.seq, _COLUMNS, newest_first=True)
_ROWS = select(audit).where(audit.c.seq.in_(bindparam("seqs", expanding=True))).order_by(audit.c.seq.desc())
_HEAD = select(audit.c.hash).order_by(audit.c.seq.desc()).limit(1)
_COUNTED = select(counters.c.value).where(counters.c.name == AUDIT)


class Head(NamedTuple):
    """Where the chain goes on."""

    seq: int
    hash: bytes


def find_head(connection: Connection) -> Head:
    newest = connection.execute(_HEAD).scalar_one_or_none() or b""
    return Head(_counted(connection), bytes(newest))


def _counted(connection: Connection) -> int:
    """The seq of the newest record that was ever written."""
    return connection.execute(_COUNTED).scalar_one_or_none() or 0


def chained(head: Head, records: Sequence[AuditRecord], first_event: int) -> list[dict[str, Any]]:
    """Rows that follow the head. `first_event`: the seq of the batch's first event, which records count
    theirs from."""
    rows: list[dict[str, Any]] = []
    previous = head.hash
    for seq, drafted in enumerate(records, head.seq + 1):
        record = _with_seq(drafted, first_event)
        previous = hash_of(previous, seq, record)
        rows.append(
            {
                "seq": seq,
                "at_ms": record.at_ms,
                "verdict": record.verdict.value,
                "by": record.user,
                "token": record.token,
                "address": record.address,
                "subject": record.subject,
                "project": record.project,
                "details": _encode(record.details),
                "hash": previous,
            }
        )
    return rows


def _with_seq(record: AuditRecord, first_event: int) -> AuditRecord:
    details = record.details
    if not details.events:
        return record
    return replace(record, details=replace(details, first_event=first_event + details.first_event))


def find_audit(connection: Connection, wanted: AuditFilter, after: str | None, limit: int) -> AuditPage:
    """Raises BadCursor for an `after` that no page ended with."""
    if after is not None and not (after.isascii() and after.isdigit() and len(after) < 19):
        raise BadCursor(after)
    if wanted.projects == ():
        return AuditPage([], None)
    span = _span(connection, wanted, EVERYTHING.below if after is None else int(after))
    paths = [path for path in _paths(wanted) if len(path.stretches) <= MAX_STRETCHES]
    keys = _SCAN.page(connection, paths, span, limit)
    rows = connection.execute(_ROWS, {"seqs": keys.found}).all() if keys.found else []
    return AuditPage([_read(row) for row in rows], None if keys.next is None else str(keys.next))


def _span(connection: Connection, wanted: AuditFilter, below: int) -> Span:
    """Where the times of a filter begin and end: records are in the order of time."""
    above = EVERYTHING.above
    if wanted.from_ms is not None:
        first = select(audit.c.seq).where(audit.c.at_ms >= wanted.from_ms)
        found = connection.execute(first.order_by(audit.c.at_ms, audit.c.seq).limit(1)).scalar()
        above = below if found is None else found - 1
    if wanted.before_ms is not None:
        last = select(audit.c.seq).where(audit.c.at_ms < wanted.before_ms)
        newest_first = last.order_by(audit.c.at_ms.desc(), audit.c.seq.desc())
        found = connection.execute(newest_first.limit(1)).scalar()
        below = min(below, above + 1 if found is None else found + 1)
    return Span(above, below)


def _paths(wanted: AuditFilter) -> Iterator[Path]:
    values: dict[str, Sequence[Any]] = {
        name: [value]
        for name, value in (
            ("by", wanted.user),
            ("token", wanted.token),
            ("address", wanted.address),
            ("subject", wanted.subject),
            ("verdict", wanted.verdict and wanted.verdict.value),
        )
        if value is not None
    }
    if wanted.projects is not None:
        values["project"] = sorted(set(wanted.projects))
    checks = {name: _is_one_of(name, some) for name, some in values.items()}
    for name, some in values.items():
        if name in _INDEXED:
            rest = [check for other, check in checks.items() if other != name]
            yield Path([((audit.c[name], value),) for value in some], rest)
    yield Path([()], list(checks.values()))


def _is_one_of(name: str, values: Sequence[Any]) -> Check:
    return lambda row: row[name].in_(values)


def check_chain(connection: Connection) -> AuditCheck:
    """The oldest is taken as it is: what it followed on was removed."""
    last = _counted(connection)
    records, first, at, head = 0, 0, 0, b""
    while True:
        page = select(audit).where(audit.c.seq > at).order_by(audit.c.seq).limit(_CHECKED_AT_ONCE)
        rows = [_read(row) for row in connection.execute(page)]
        for row in rows:
            follows = row.seq == at + 1 if records else row.seq > 1 or hash_of(b"", 1, row.record) == row.hash
            if not follows or (records and hash_of(head, row.seq, row.record) != row.hash):
                return AuditCheck(records, first, last, head, row.seq)
            first = first or row.seq
            records, at, head = records + 1, row.seq, row.hash
        if len(rows) < _CHECKED_AT_ONCE:
            break
    return AuditCheck(records, first, last, head, at + 1 if at != last else None)


def remove_audit(connection: Connection, before_ms: int | None, keep: int | None, at_most: int) -> int:
    """The oldest first: what is too old, or more than is to be kept. The newest always stays."""
    last = connection.execute(select(func.max(audit.c.seq))).scalar()
    if last is None:
        return 0
    surplus_until = -1 if keep is None else last - max(keep, 1)
    oldest = select(audit.c.seq, audit.c.at_ms).where(audit.c.seq < last).order_by(audit.c.seq).limit(at_most)
    gone = list(
        takewhile(
            lambda row: row.seq <= surplus_until or (before_ms is not None and row.at_ms < before_ms),
            connection.execute(oldest),
        )
    )
    if gone:
        connection.execute(delete(audit).where(audit.c.seq <= gone[-1].seq))
    return len(gone)


def _read(row: Any) -> StoredAudit:
    details = _details.decode(bytes(row.details))
    record = AuditRecord(
        row.at_ms, Verdict(row.verdict), row.by, row.token, row.address, row.subject, row.project, details
    )
    return StoredAudit(row.seq, record, bytes(row.hash))
