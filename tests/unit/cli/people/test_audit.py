"""`rota audit`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rota.api.audit import AuditDocument, Verdict
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW
from tests.unit.cli.fake_server import FakeServer


def a_record(**fields: Any) -> AuditDocument:
    given: dict[str, Any] = {
        "seq": 1,
        "at": NOW,
        "verdict": Verdict.DONE,
        "user": "ada",
        "token": "t1",
        "address": "10.0.0.1",
        "method": "POST",
        "route": "/v1/jobs/{job}/cancel",
        "subject": "17",
        "project": "vision",
        "status": 200,
        "problem": "",
        "detail": "",
        "request": "r1",
        "times": 1,
        "first_event": 12,
        "events": 1,
        "hash": "ab" * 32,
    }
    return AuditDocument(**{**given, **fields})


@pytest.fixture
def recorded(server: FakeServer) -> FakeServer:
    """The newest first, as a server tells them."""
    server.audit_list = [
        a_record(seq=3, verdict=Verdict.REFUSED, problem="unauthorised", user="", times=187, subject=""),
        a_record(seq=2, route="/v1/jobs", events=1000),
        a_record(),
    ]
    return server


def test_a_line_each_the_newest_last(recorded: FakeServer) -> None:
    lines = rota("audit", columns=120).lines
    assert [line.split() for line in lines[1:]] == [
        ["12:00", "ada", "POST", "jobs/17/cancel", "done", "10.0.0.1"],
        ["12:00", "ada", "POST", "jobs", "17", "(1,000", "events)", "done", "10.0.0.1"],
        ["12:00", "-", "POST", "jobs/{job}/cancel", "refused:", "unauthorised,", "187", "times", "10.0.0.1"],
    ]


def test_it_fits_a_terminal_whatever_somebody_sent(recorded: FakeServer) -> None:
    nasty = "\x1b[2J" + "x" * 300
    recorded.audit_list = [
        replace(one, subject=nasty, at=NOW - timedelta(days=300)) for one in recorded.audit_list
    ]
    for form in ("table", "wide"):
        shown = rota("audit", "-o", form, columns=80).out
        assert max(map(len, shown.splitlines())) <= 80
        assert "\x1b[2J" not in shown


def test_records_are_printed_as_lines_of_json(recorded: FakeServer) -> None:
    assert [line[:8] for line in rota("audit", "-o", "json").lines] == ['{"seq":1', '{"seq":2', '{"seq":3']
    assert rota("audit", "-o", "yaml").lines[0] == "---"


def test_filters_of_the_audit_reach_the_server(recorded: FakeServer) -> None:
    result = rota(
        "audit", "--user", "ada", "--verdict", "refused", "--since", "2026-01-01T00:00:00Z", "--limit", "1"
    )
    assert len(result.lines) == 2
    asked = recorded.filters
    assert (asked["user"], asked["verdict"], asked["limit"]) == ("ada", "refused", "1")
    assert asked["since"] == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize("option", [("--verdict", "perhaps"), ("--since", "soon"), ("--limit", "0")])
def test_bad_filters_of_the_audit_are_named(recorded: FakeServer, option: tuple[str, str]) -> None:
    result = rota("audit", *option)
    assert (result.code, result.out) == (1, "")
    assert option[0] in result.err


def test_nothing_found(server: FakeServer) -> None:
    assert "no record" in rota("audit").err


def test_the_check_tells_a_broken_chain(server: FakeServer) -> None:
    assert rota("audit", "--check").out == "ab" * 32 + "\n"
    server.audit_check = replace(server.audit_check, broken=2)
    broken = rota("audit", "--check")
    assert (broken.code, broken.out) == (2, "")
    assert "record 2" in broken.err
    assert rota("audit", "--check", "-o", "json").code == 2
