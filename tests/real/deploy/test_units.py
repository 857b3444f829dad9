"""The units of deploy/systemd: systemd takes them, and tasks outlive a restart of the agent's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.real.conftest import missing
from tests.real.docker import ROOT

UNITS = ROOT / "deploy" / "systemd"
ACCOUNTS = {"rota-server.service": "rota", "rota-agent.service": "rota-agent"}
KEEPER = "rota-keeper.service"
NAMES = (*ACCOUNTS, KEEPER)
NEWER = "Unknown key 'DelegateSubgroup'"
"""Than Debian 12's systemd, which passes over it."""


def section(name: str) -> dict[str, str]:
    parsed = ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(UNITS / name)
    return dict(parsed["Service"])


@pytest.mark.parametrize("name", NAMES)
def test_systemd_takes_it(tmp_path: Path, name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze isn't there: apt-get install systemd")
    for each in NAMES:
        # What it starts needn't be installed here.
        text = re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", (UNITS / each).read_text())
        (tmp_path / each).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(tmp_path / name)], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if name in line and NEWER not in line]
    assert (done.returncode, complaints) == (0, [])


@pytest.mark.covers("trust-6")
@pytest.mark.parametrize(
    "name, most", [("rota-server.service", 2.5), ("rota-agent.service", 2.5), (KEEPER, 3.9)]
)
def test_systemd_finds_it_little_exposed(name: str, most: float) -> None:
    """Jobs inherit what the keeper's unit says, and are to keep what they need."""
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze isn't there: apt-get install systemd")
    assert exposure(UNITS / name) <= most


def exposure(unit: Path) -> float:
    """From 0 to 10, as systemd counts it: the less the better."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", str(unit)], capture_output=True, text=True
    )
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
    assert found is not None, done.stderr
    return float(found[1])


DROP_INS = sorted((UNITS / "keeper-drop-ins").glob("*.conf"))


@pytest.mark.parametrize("drop_in", DROP_INS, ids=lambda path: path.stem)
def test_each_drop_in_is_taken_and_changes_what_it_says(tmp_path: Path, drop_in: Path) -> None:
    """The one for devices is stricter; all others give back."""
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze isn't there: apt-get install systemd")
    unit, folder = tmp_path / KEEPER, tmp_path / f"{KEEPER}.d"
    unit.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", (UNITS / KEEPER).read_text()))
    before = exposure(unit)
    folder.mkdir()
    shutil.copy(drop_in, folder)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, drop_in.name in done.stderr) == (0, False), done.stderr
    after = exposure(unit)
    assert after < before if drop_in.stem == "devices" else after > before
    assert drop_in.name in (UNITS / KEEPER).read_text() or drop_in.stem == "devices"


@pytest.mark.covers("trust-6")
def test_the_keeper_refuses_with_an_error_and_never_kills() -> None:
    """A job that tries what it may not goes on, and says so."""
    service = section(KEEPER)
    assert service["SystemCallErrorNumber"] == "EPERM"
    assert service["RestrictNamespaces"] == service["RestrictSUIDSGID"] == "yes"
    denied = service["SystemCallFilter"]
    assert denied.startswith("~")
    # Debuggers, tools that bind to cpus, and the keeper's own calls.
    for needed in ("@debug", "@resources", "@privileged", "@setuid", "@process"):
        assert needed not in denied


@pytest.mark.covers("trust-2")
@pytest.mark.parametrize("name", ACCOUNTS)
def test_neither_runs_as_root_nor_can_become_it(name: str) -> None:
    """Each has an account of its own: neither can read what is the other's."""
    service = section(name)
    assert service["User"] == ACCOUNTS[name]
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["RestrictSUIDSGID"] == "yes"


@pytest.mark.covers("trust-2")
def test_the_keeper_has_the_rights_that_it_needs_and_takes_orders_from_the_agent() -> None:
    service, agent = section(KEEPER), section("rota-agent.service")
    assert service["User"] == agent["User"]
    rights = {"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_CHOWN"}
    assert set(service["AmbientCapabilities"].split()) == rights
    assert set(service["CapabilityBoundingSet"].split()) == rights
    # Else the agent would start a keeper without rights of its own.
    assert "ROTA_WORKER_ISOLATION=project" in agent["Environment"]


def test_tasks_outlive_a_restart_of_the_keeper() -> None:
    """Of the agent they do anyway: they aren't in its unit."""
    service = section(KEEPER)
    assert service["KillMode"] == "process"
    # SIGTERM would end all tasks.
    assert service["KillSignal"] == "SIGKILL"
    # It would be emptied at each restart.
    assert "PrivateTmp" not in service


def test_the_server_writes_nowhere_but_in_its_own_folder() -> None:
    service = section("rota-server.service")
    assert (service["ProtectSystem"], service["ProtectHome"]) == ("strict", "yes")
    assert service["StateDirectory"] == "rota"
    assert "ROTA_SERVER_DATA=/var/lib/rota" in service["Environment"]
    assert "ROTA_SERVER_EMBEDDED_WORKER=false" in service["Environment"]
