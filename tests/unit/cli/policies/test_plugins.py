"""`rota plugins`, of a server and without one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rota.api.plugins import PluginDocument, PluginFaultDocument
from tests.unit.cli.calling import rota
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("decide-18")

AT = datetime(2026, 5, 1, 9, tzinfo=UTC)


def a_plugin(*faults: PluginFaultDocument) -> PluginDocument:
    return PluginDocument(
        name="licences",
        package="rota-plugin-example",
        version="0.1.0",
        usable=True,
        fault="",
        does=["filter", "score"],
        schedulers=["default", "night"],
        faults=list(faults),
    )


def a_fault(error: str | None = "ValueError: no idea", job: str | None = "17") -> PluginFaultDocument:
    return PluginFaultDocument(call="filter", count=3, first=AT, last=AT, error=error, job=job)


def test_says_where_it_comes_from_what_it_does_and_who_uses_it(server: FakeServer) -> None:
    server.plugin_list = [a_plugin()]
    [_, line] = rota("plugins", columns=120).lines
    assert " ".join(line.split()) == "licences rota-plugin-example 0.1.0 usable filter, score default, night"


def test_shows_faults(server: FakeServer) -> None:
    server.plugin_list = [a_plugin(a_fault())]
    result = rota("plugins")
    assert "3 faults" in result.out
    [line] = [line for line in result.lines if "no idea" in line]
    assert " ".join(line.split()) == "licences filter 3 3 h ago 17 ValueError: no idea"


def test_what_others_jobs_are_about_is_not_shown(server: FakeServer) -> None:
    server.plugin_list = [a_plugin(a_fault(error=None, job=None))]
    assert "of a job of another project" in rota("plugins", columns=120).out


def test_without_a_server_it_shows_what_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ROTA_URL", "ROTA_TOKEN", "ROTA_CONTEXT", "ROTA_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    result = rota("plugins")
    assert result.code == 0
    assert "no server is known here" in result.err
    assert any(line.startswith("licences") for line in result.lines)
