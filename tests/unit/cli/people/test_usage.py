"""`rota usage` and `rota quota`."""

from __future__ import annotations

import pytest

from rota.api.people import QuotaEntry, TenantDocument, UsageDocument, UsageEntry
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW, later
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("ops-4")


def used(name: str, tasks: int, cpu: float, gpu: float, memory: float) -> UsageEntry:
    return UsageEntry(name=name, tasks=tasks, cpu_hours=cpu, gpu_hours=gpu, memory_gib_hours=memory)


def usage(*items: UsageEntry, by: str = "project") -> UsageDocument:
    return UsageDocument(since=NOW, until=later(60), by=by, items=list(items))


def test_hours_stand_by_project(server: FakeServer) -> None:
    server.usage_answer = usage(used("vision", 1234, 1500.5, 12, 0), used("audio", 1, 0.25, 0, 3))
    heading, columns, *lines = rota("usage", columns=80).lines
    assert heading.startswith("Used since ")
    assert columns.split() == ["PROJECT", "TASKS", "CORE", "HOURS", "GPU", "HOURS", "MEMORY,", "GIB", "HOURS"]
    assert [line.split() for line in lines] == [
        ["vision", "1,234", "1,500.50", "12.00", "0"],
        ["audio", "1", "0.25", "0", "3.00"],
    ]


def test_what_is_asked_for_reaches_the_server(server: FakeServer) -> None:
    server.usage_answer = usage(used("ada", 1, 1, 0, 0), by="user")
    told = rota("usage", "--by", "user", "--since", "2026-05-01", "-o", "json")
    assert told.data["items"][0]["name"] == "ada"
    assert server.filters["by"] == "user"
    assert server.filters["since"].startswith("2026-0")


def test_nothing_was_used(server: FakeServer) -> None:
    server.usage_answer = usage()
    assert rota("usage").lines[1:] == ["nothing"]


def test_a_moment_that_is_none_is_named(server: FakeServer) -> None:
    told = rota("usage", "--since", "once")
    assert told.code == 1
    assert "--since" in told.err


def tenant(name: str, *quotas: QuotaEntry) -> TenantDocument:
    return TenantDocument(tenant=name, weight=2, due=0.5, share=0.125, quotas=list(quotas))


def test_quotas_and_shares(server: FakeServer) -> None:
    cpu = QuotaEntry(resource="cpu", quota="8", held="8", borrowable=None, lendable="4")
    gpu = QuotaEntry(resource="gpu", quota="2", held="0", borrowable="1", lendable="0")
    server.quota_list = [tenant("vision", cpu, gpu), tenant("vision/ada")]
    _, *lines = rota("quota", columns=100).lines
    assert [line.split() for line in lines] == [
        ["vision", "2", "50.0%", "12.5%", "cpu", "8", "8", "what", "is", "idle", "4"],
        ["gpu", "2", "0", "1", "0"],
        ["vision/ada", "2", "50.0%", "12.5%"],
    ]
    assert rota("quota", "-o", "name").lines == ["vision", "vision/ada"]
    assert rota("quota", "-o", "json").data[0]["quotas"][1]["borrowable"] == "1"


def test_no_quotas(server: FakeServer) -> None:
    assert rota("quota").out == "no quotas, and nothing was used\n"
