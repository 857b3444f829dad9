"""`rota agent` and `rota server --agents`: what they are told, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from rota.agent import run as agent_run
from rota.agent.run import AgentOptions
from rota.cli.agents.agent import address_and_port, work
from rota.model.ids import NodeName
from rota.model.taints import Effect, Taint
from rota.settings.errors import SettingsError
from rota.trust.own_folder import FolderTaken, own_folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, (None, None)),
        ("127.0.0.1", ("127.0.0.1", None)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:8427", ("localhost", 8427)),
        ("[::1]:8427", ("::1", 8427)),
        ("[::1]", ("::1", None)),
        ("::1", ("::1", None)),
        ("unix", ("unix", None)),
        ("unix:/run/rota/agents.sock", ("unix:/run/rota/agents.sock", None)),
    ],
)
def test_addresses(text: str | None, found: tuple[str | None, int | None]) -> None:
    assert address_and_port(text) == found


@pytest.mark.parametrize("text", ["", ":8427", "host:port", "[::1]:x"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="write it like"):
        address_and_port(text)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[AgentOptions]:
    """What agents would be started with."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("ROTA_WORKER_ALLOW_ROOT", "true")
    found: list[AgentOptions] = []
    monkeypatch.setattr(agent_run, "run_agent", found.append)
    monkeypatch.setattr("rota.server.logs.configure_logs", lambda *_: None)
    return found


def test_settings_become_options(started: list[AgentOptions], tmp_path: Path) -> None:
    flags = {
        "agent.server": "rota:1, [::1]:2",
        "worker.name": "n",
        "worker.cpus": 2,
        "agent.labels": "a=b, c=",
        "agent.taints": "k=v:NoSchedule,x:NoExecute",
        "agent.pool": "fast",
        "agent.drain": "5m",
    }
    assert work((), flags) == 0
    [options] = started
    assert options.servers == ("rota:1", "[::1]:2")
    assert (options.name, options.folder) == ("n", tmp_path / "rota-agent")
    assert (options.offering.share.cpu_milli, options.offering.pool) == (2000, "fast")
    assert options.offering.labels == (("a", "b"), ("c", ""))
    assert options.offering.taints == (Taint("k", Effect.NO_SCHEDULE, "v"), Taint("x", Effect.NO_EXECUTE))
    assert options.drain_ms == 300_000


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("flags", "key"),
    [
        ({}, "agent.server"),
        ({"agent.server": "a:1,b"}, "agent.server"),
        ({"agent.server": ":1"}, "agent.server"),
        ({"agent.server": "a:1", "agent.labels": "a"}, "agent.labels"),
        ({"agent.server": "a:1", "agent.labels": "=a"}, "agent.labels"),
        ({"agent.server": "a:1", "agent.taints": "a=b"}, "agent.taints"),
        ({"agent.server": "a:1", "agent.taints": "a=b:Never"}, "agent.taints"),
        ({"agents.lost_after": "1s"}, "agents.lost_after"),
    ],
)
def test_what_is_wrong_is_named(started: list[AgentOptions], flags: dict[str, object], key: str) -> None:
    with pytest.raises(SettingsError) as error:
        work((), flags)
    assert error.value.key == key
    assert error.value.remedy
    assert started == []


@pytest.mark.covers("trust-2")
def test_root_is_refused(
    started: list[AgentOptions], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("ROTA_WORKER_ALLOW_ROOT")
    assert work((), {"agent.server": "rota:1"}) == 1
    assert "as root" in capsys.readouterr().err
    assert started == []


def test_a_folder_that_another_agent_has(tmp_path: Path) -> None:
    options = AgentOptions(("unix:/run/a.sock",), NodeName("n"), tmp_path / "taken")
    with (
        own_folder(options.folder, agent_run.LOCK_FILE, "agent"),
        pytest.raises(FolderTaken, match="another agent uses"),
    ):
        agent_run.run_agent(options)
