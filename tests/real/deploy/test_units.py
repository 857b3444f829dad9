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
NAMES = ("rota-server.service", "rota-agent.service")
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
    unit = tmp_path / name
    # What it starts needn't be installed here.
    unit.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", (UNITS / name).read_text()))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if name in line and NEWER not in line]
    assert (done.returncode, complaints) == (0, [])


@pytest.mark.parametrize("name", NAMES)
def test_neither_runs_as_root_nor_can_become_it(name: str) -> None:
    service = section(name)
    assert service["User"] == "rota"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["RestrictSUIDSGID"] == "yes"


def test_tasks_outlive_a_restart_of_the_agent() -> None:
    service = section("rota-agent.service")
    assert (service["KillMode"], service["KillSignal"], service["SendSIGKILL"]) == ("process", "SIGINT", "no")
    # It would be emptied at each restart.
    assert "PrivateTmp" not in service


def test_the_server_writes_nowhere_but_in_its_own_folder() -> None:
    service = section("rota-server.service")
    assert (service["ProtectSystem"], service["ProtectHome"]) == ("strict", "yes")
    assert service["StateDirectory"] == "rota"
    assert "ROTA_SERVER_DATA=/var/lib/rota" in service["Environment"]
    assert "ROTA_SERVER_EMBEDDED_WORKER=false" in service["Environment"]
