"""The audit log in both databases: kept with its change, listed, chained, pruned."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from rota.api.audit import Verdict
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import AuditDetails, AuditRecord
from rota.store.errors import BadCursor
from rota.store.sql.leases import Claim
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch, EventRow

pytestmark = pytest.mark.covers("trust-6")

RECORD = AuditRecord(
    1000, Verdict.DONE, "ada", "t1", "10.0.0.1", "17", "vision", AuditDetails("POST", "/v1/jobs", 201)
)
EVENT = EventRow(1000, "job.Submitted", "17", "vision", "ada", b"{}")


def keep(store: Store, *records: AuditRecord, events: int = 0) -> None:
    store.commit(Batch(audit=list(records), events=[EVENT] * events))


def seqs(store: Store, wanted: AuditFilter, limit: int = 2) -> list[int]:
    """Of all pages."""
    found: list[int] = []
    after = None
    while True:
        records, after = store.audit(wanted, after, limit)
        found += [one.seq for one in records]
        if after is None:
            return found


def test_records_come_back_as_they_were_and_name_their_events(store: Store) -> None:
    keep(store, events=3)
    keep(store, replace(RECORD, details=replace(RECORD.details, first_event=1, events=2)), RECORD, events=4)
    (second, first), following = store.audit()
    assert following is None
    assert (first.seq, second.seq, second.record) == (1, 2, RECORD)
    assert (first.record.details.first_event, first.record.details.events) == (5, 2)
    assert len({first.hash, second.hash}) == 2


def test_filters(store: Store) -> None:
    keep(
        store,
        RECORD,
        replace(RECORD, at_ms=2000, user="bob", token="t2", project=None),
        replace(RECORD, at_ms=3000, address="10.0.0.2", verdict=Verdict.REFUSED, subject="n1"),
    )
    for wanted, expected in (
        (AuditFilter(), [3, 2, 1]),
        (AuditFilter(user="ada"), [3, 1]),
        (AuditFilter(token="t2"), [2]),
        (AuditFilter(address="10.0.0.2"), [3]),
        (AuditFilter(verdict=Verdict.REFUSED, user="ada"), [3]),
        (AuditFilter(verdict=Verdict.REFUSED, user="bob"), []),
        (AuditFilter(subject="17", projects=("vision",)), [1]),
        (AuditFilter(projects=()), []),
        (AuditFilter(projects=("other", "vision")), [3, 1]),
        (AuditFilter(from_ms=2000), [3, 2]),
        (AuditFilter(before_ms=2000), [1]),
        (AuditFilter(from_ms=1500, before_ms=2500, user="bob"), [2]),
        (AuditFilter(from_ms=9000), []),
        (AuditFilter(before_ms=1), []),
    ):
        assert seqs(store, wanted) == expected, wanted
        everything = [one for one in store.audit().records if wanted.admits(one.record)]
        assert [one.seq for one in everything] == expected, wanted
    for bad in ("x", "-1", "9" * 40, "٣"):
        with pytest.raises(BadCursor):
            store.audit(after=bad)


def test_the_chain_goes_on_and_shows_tampering(store: Store) -> None:
    for number in range(5):
        keep(store, replace(RECORD, at_ms=number), RECORD)
    whole = store.check_audit()
    assert (whole.records, whole.first, whole.last, whole.broken) == (10, 1, 10, None)
    assert whole.head == store.audit().records[0].hash
    with store.connections.write() as connection:
        connection.execute(text("UPDATE audit SET token = 't9' WHERE seq = 7"))
    assert store.check_audit().broken == 7


def test_an_empty_log_is_whole(store: Store) -> None:
    check = store.check_audit()
    assert (check.records, check.head, check.broken) == (0, b"", None)


def test_the_oldest_go_first_and_the_chain_stays_whole(store: Store) -> None:
    keep(store, *(replace(RECORD, at_ms=number) for number in range(10)))
    assert store.forget_audit(before_ms=4, keep=None, at_most=3) == 3
    assert store.forget_audit(before_ms=4, keep=None, at_most=3) == 1
    assert store.forget_audit(before_ms=4, keep=None) == 0
    assert store.check_audit().first == 5
    assert store.forget_audit(before_ms=None, keep=2) == 4
    assert store.forget_audit(before_ms=10**15, keep=None) == 1
    assert seqs(store, AuditFilter()) == [10]
    keep(store, RECORD)
    check = store.check_audit()
    assert (check.records, check.last, check.broken) == (2, 11, None)


def test_the_chain_goes_on_when_the_lead_changes_hands(postgres_url: str) -> None:
    with open_store(postgres_url) as one, open_store(postgres_url) as other:
        for store in (one, other, one, other):
            leadership = store.leases.lead(Claim("rota", str(id(store)), "", ""), 60_000)
            assert leadership is not None
            keep(store, RECORD, RECORD)
            store.leases.resign(leadership)
        check = one.check_audit()
        assert (check.records, check.broken) == (8, None)
