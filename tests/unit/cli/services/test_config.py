"""`rota config`, and what `rota server` starts with."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rota.server.service.reloading import SettingsSource
from rota.settings.settings import Settings
from tests.unit.cli.calling import rota


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ROTA_CONFIG", "ROTA_URL", "ROTA_TOKEN", "ROTA_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "rota" / "rota.toml"
    path.parent.mkdir()
    return path


class TestCheck:
    def test_says_where_each_value_comes_from(self, user_file: Path) -> None:
        user_file.write_text("[server]\nport = 9000\n")
        lines = {line.split()[0]: line.split()[1:] for line in rota("config", "check", columns=500).lines}
        assert lines["server.port"] == ["9000", f"{user_file}:2"]
        assert lines["server.address"] == ["127.0.0.1", "default"]

    def test_a_mistake_is_named(self, user_file: Path) -> None:
        user_file.write_text("[server]\nadress = '::1'\n")
        result = rota("config", "check")
        assert (result.code, result.out) == (1, "")
        assert f"{user_file}:2" in result.err
        assert "address" in result.err

    def test_of_a_named_file(self, user_file: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.toml"
        other.write_text("[server]\nport = 9001\n")
        rows = rota("config", "check", str(other), "-o", "json").data
        assert {"key": "server.port", "value": 9001, "origin": f"{other}:2"} in rows


class TestContexts:
    def test_are_added_listed_and_chosen(self, user_file: Path) -> None:
        user_file.write_text("# mine\n")
        added = rota(
            "config", "add", "lab", "--url", "https://rota.example.org", "--token-file", "/srv/token"
        )
        assert added.code == 0
        assert rota("config", "contexts", "-o", "name").out == "lab\n"
        assert rota("config", "use", "lab").code == 0
        assert rota("config", "contexts").lines[1].split() == ["lab", "https://rota.example.org", "in", "use"]
        assert "# mine" in user_file.read_text()

    def test_none_of_that_name(self, user_file: Path) -> None:
        user_file.write_text("[client.contexts.lab]\nurl = 'https://rota.example.org'\n")
        before = user_file.read_text()
        result = rota("config", "use", "lap")
        assert (result.code, user_file.read_text()) == (1, before)
        assert 'did you mean "lab"?' in result.err

    def test_one_that_is_no_address_changes_nothing(self, user_file: Path) -> None:
        result = rota("config", "add", "lab", "--url", "nowhere", "--token-file", "t")
        assert result.code == 1
        assert not user_file.exists()
        assert list(user_file.parent.iterdir()) == []


class TestServer:
    @pytest.fixture
    def started(self, monkeypatch: pytest.MonkeyPatch, user_file: Path) -> list[Settings]:
        started: list[Settings] = []

        def run_server(source: SettingsSource) -> int:
            started.append(source.resolved.settings)
            return 7

        module = ModuleType("rota.server.run")
        module.run_server = run_server  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "rota.server.run", module)
        return started

    def test_flags_go_before_files(self, started: list[Settings], user_file: Path) -> None:
        user_file.write_text("[server]\nport = 9000\naddress = '127.0.0.2'\n")
        result = rota("server", "--port", "9001", "--tls-self-signed", "--log-format", "json", "--allow-root")
        assert result.code == 7
        (settings,) = started
        assert (settings.server.port, settings.server.address) == (9001, "127.0.0.2")
        assert settings.server.tls.self_signed
        assert settings.logs.format == "json"

    @pytest.mark.covers("trust-2")
    def test_root_is_refused(self, started: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        result = rota("server")
        assert (result.code, result.out, started) == (1, "", [])
        assert "--allow-root" in result.err

    @pytest.mark.parametrize(
        "arguments", [("--port", "99999"), ("--log-format", "xml"), ("--config", "none.toml")]
    )
    def test_bad_settings_start_nothing(self, started: list[Settings], arguments: tuple[str, str]) -> None:
        result = rota("server", *arguments)
        assert (result.code, result.out, started) == (1, "", [])
        assert "Traceback" not in result.err

    def test_what_a_server_would_refuse_is_refused_by_both(
        self, started: list[Settings], user_file: Path
    ) -> None:
        user_file.write_text("[server]\npolicy = '/no/such/policy.yaml'\n")
        check, server = rota("config", "check"), rota("server", "--allow-root")
        assert (check.code, server.code, started) == (1, 1, [])
        assert "/no/such/policy.yaml" in check.err
        assert "/no/such/policy.yaml" in server.err
