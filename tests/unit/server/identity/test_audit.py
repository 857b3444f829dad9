"""Which calls get a record and a line in the log, and how many."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.api.audit import Verdict
from rota.api.people import Role
from rota.control.origin import Origin, calling, current
from rota.loop.desk.audit import AuditTrail
from rota.server.http.app import make_app
from rota.server.http.repetitions import FIRST, MOST_CALLERS, WINDOW_MS
from rota.server.identity.audit import Auditor, Reads
from rota.store.audit_record import AuditDetails, AuditRecord, StoredAudit
from tests.unit.server.fake_desk import Service, as_desks
from tests.unit.server.fake_state import NOW_MS

pytestmark = pytest.mark.covers("trust-6")


class Listening:
    """An auditor, what it keeps, and a clock that the test moves."""

    def __init__(self, reads: Reads = "others") -> None:
        self.now_ms = NOW_MS
        self.kept: list[AuditRecord] = []
        self.auditor = Auditor(lambda: self.now_ms, self.kept.append, reads)

    def refuse(self, times: int = 1, address: str = "10.0.0.1", token: str = "", status: int = 401) -> None:
        for _ in range(times):
            origin = Origin("id", address, "GET", "/v1/jobs", token=token, problem="unauthorised")
            self.auditor.answered(origin, status)

    def due(self) -> list[AuditRecord]:
        return list(self.auditor.due())


def test_the_first_few_refusals_have_records_and_the_rest_is_one_count() -> None:
    listening = Listening()
    listening.refuse(200)
    assert [one.details.times for one in listening.kept] == [1] * FIRST
    assert not listening.due()
    listening.now_ms += WINDOW_MS
    [counted] = listening.due()
    assert (counted.details.times, counted.address) == (200 - FIRST, "10.0.0.1")
    assert not listening.due()


def test_a_new_minute_begins_with_records_again() -> None:
    listening = Listening()
    listening.refuse(FIRST + 3)
    listening.now_ms += WINDOW_MS
    listening.refuse(1)
    assert [one.details.times for one in listening.kept] == [*[1] * FIRST, 3, 1]


def test_one_caller_who_is_refused_does_not_hide_another() -> None:
    listening = Listening()
    listening.refuse(100)
    listening.refuse(1, address="10.0.0.2")
    listening.refuse(1, token="t1", status=403)
    assert [one.address for one in listening.kept[FIRST:]] == ["10.0.0.2", "10.0.0.1"]


def test_a_crowd_of_addresses_fills_nothing() -> None:
    listening = Listening()
    for number in range(20 * MOST_CALLERS):
        listening.refuse(1, address=f"10.{number >> 8}.{number & 255}.1")
    assert len(listening.kept) == MOST_CALLERS + FIRST
    listening.now_ms += WINDOW_MS
    [counted] = listening.due()
    assert counted.details.times == 19 * MOST_CALLERS - FIRST


def test_one_subscriber_of_ipv6_is_one_caller() -> None:
    listening = Listening()
    for number in range(100):
        listening.refuse(1, address=f"2001:db8::{number:x}")
    assert len(listening.kept) == FIRST


@pytest.mark.parametrize(
    ("status", "changes", "verdict"),
    [
        (201, True, Verdict.DONE),
        (422, True, Verdict.REFUSED),
        (409, True, Verdict.REFUSED),
        (503, True, Verdict.FAILED),
        (0, True, Verdict.FAILED),
        (200, False, None),
        (404, False, None),
        (503, False, None),
        (401, False, Verdict.REFUSED),
        (403, False, Verdict.REFUSED),
        (429, False, Verdict.REFUSED),
    ],
)
def test_what_is_worth_a_record(status: int, changes: bool, verdict: Verdict | None) -> None:
    listening = Listening()
    listening.auditor.answered(Origin(changes=changes), status)
    assert [one.verdict for one in listening.kept] == ([] if verdict is None else [verdict])


def test_what_the_controller_has_recorded_is_not_recorded_again() -> None:
    listening = Listening()
    listening.auditor.answered(Origin(changes=True, is_recorded=True), 201)
    assert not listening.kept


@pytest.mark.parametrize(("reads", "count"), [("none", 0), ("others", 1), ("all", 2)])
def test_which_reads_are_recorded(reads: Reads, count: int) -> None:
    listening = Listening(reads)
    listening.auditor.answered(Origin(token="t1", reads_others=True), 200)
    listening.auditor.answered(Origin(token="t1"), 200)
    listening.auditor.answered(Origin(), 200)
    assert len(listening.kept) == count


def test_a_call_is_over_once_it_is_answered() -> None:
    origin = Origin()
    with calling(origin):
        assert current() is origin
        origin.is_over = True
        assert current() is None
    assert current() is None


def test_every_answer_has_an_id_of_its_own() -> None:
    service = Service()
    ids = {service.ask("GET", "/v1/jobs", role).headers["x-request-id"] for role in (Role.ADMIN, None)}
    ids.add(service.ask("GET", "/nowhere").headers["x-request-id"])
    assert len(ids) == 3


def test_the_application_tells_the_trail() -> None:
    trail, service = AuditTrail(), Service()
    service.app = make_app(as_desks(service.desk), audit=trail, now_ms=lambda: NOW_MS)
    service.ask("POST", "/v1/jobs", Role.VIEWER, json={"jobs": []})
    service.ask("GET", "/v1/jobs", None)
    service.ask("PUT", "/v1/queues/q%00%1b", Role.ADMIN, json={"state": "open"})
    kept = [*trail._waiting]
    assert [one.details.problem for one in kept] == ["forbidden", "unauthorised", "bad-input"]
    assert kept[0].user
    assert kept[0].token
    assert all(one.subject.isprintable() for one in kept)
    service.ask("GET", "/v1/audit/check", Role.PROJECT_ADMIN)
    assert trail._waiting[-1].details.route == "/v1/audit/check"


def test_pages_and_filters() -> None:
    service = Service()
    record = AuditRecord(NOW_MS, Verdict.DONE, "ada", "t1", "10.0.0.1", "17", "vision", AuditDetails("POST"))
    records = [replace(record, user=user) for user in ("ada", "bob", "ada")]
    service.desk.audited = [StoredAudit(seq, one, b"\xab" * 32) for seq, one in enumerate(records, 1)]
    first = service.ask("GET", "/v1/audit?limit=2").json()
    assert [one["seq"] for one in first["items"]] == [3, 2]
    second = service.ask("GET", f"/v1/audit?limit=2&after={first['next']}").json()
    assert ([one["seq"] for one in second["items"]], second["next"]) == ([1], None)
    assert len(service.ask("GET", "/v1/audit?user=ada&verdict=done&address=10.0.0.1").json()["items"]) == 2
    for wrong in ("verdict=perhaps", "since=yesterday", "limit=0", "who=ada"):
        assert service.ask("GET", f"/v1/audit?{wrong}").status_code == 422
