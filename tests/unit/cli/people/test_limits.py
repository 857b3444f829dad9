"""`rota limits`."""

from __future__ import annotations

import pytest

from rota.api.people import LimitEntry, LimitsDocument
from tests.unit.cli.calling import rota
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("trust-4")


def entry(limit: str, value: str, of: str, set_by: str, used: str | None = None) -> LimitEntry:
    return LimitEntry(limit=limit, value=value, used=used, of=of, set_by=set_by)


def answer(*limits: LimitEntry, exempt: bool = False) -> LimitsDocument:
    return LimitsDocument(user="ada", project="vision", exempt=exempt, limits=list(limits))


def test_each_stands_with_its_use_and_its_origin(server: FakeServer) -> None:
    server.limits_answer = answer(
        entry("priority", "high", "job", "project vision"),
        entry("tolerations", "gpu, dedicated=ml", "job", "project vision"),
        entry("submissions_per_minute", "120", "user ada", "default", "3"),
        entry("at_once.cpu", "64", "project vision", "project vision", "64"),
    )
    lines = rota("limits", columns=80).lines
    assert lines[0] == "Limits of ada in project vision"
    assert lines[1].split() == ["LIMIT", "ALLOWED", "USED", "OF", "SET", "BY"]
    assert lines[2].split() == ["priority", "high", "job", "project", "vision"]
    assert lines[4].split() == ["submissions_per_minute", "120", "3", "user", "ada", "default"]
    assert lines[5].split() == ["at_once.cpu", "64", "64", "project", "vision", "project", "vision"]
    assert len(lines) == 6
    assert all(len(line) <= 80 for line in lines)


def test_operators_are_told_that_no_default_holds_them(server: FakeServer) -> None:
    server.limits_answer = answer(exempt=True)
    assert rota("limits").lines[1:] == ["default limits don't apply to operators and admins", "no limits"]


def test_limits_of_another_user_and_project(server: FakeServer) -> None:
    server.limits_answer = answer()
    assert rota("limits", "--user", "bob", "--project", "audio", "-o", "json").data["limits"] == []
    (asked,) = server.asked
    assert (asked.name, asked.fields) == ("bob", {"project": "audio"})
