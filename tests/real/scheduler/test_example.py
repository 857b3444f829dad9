"""The controller of docs/scheduler.md, as it stands there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.scheduler.ledger import token_of
from tests.real.scheduler.stand import SchedulerStand
from tests.real.server.rota_server import eventually

DOCUMENT = Path(__file__).parents[3] / "docs" / "scheduler.md"


@pytest.mark.slow
@pytest.mark.covers("agent-5")
def test_it_works_and_goes_on_after_it_was_killed(stand: SchedulerStand, tmp_path: Path) -> None:
    program, ledger, go_on = tmp_path / "controller.py", tmp_path / "ledger.json", tmp_path / "go"
    program.write_text(DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0])
    command = [sys.executable, str(program), stand.controllers, token_of("ci"), str(ledger)]
    script = f"echo one; while [ ! -e {go_on} ]; do sleep 0.1; done; echo two"
    stand.agent("one")
    with subprocess.Popen([*command, script, "exit 3"], stdout=subprocess.DEVNULL) as first:
        eventually(lambda: ledger.exists() and b"one\n".hex() in ledger.read_text(), "its first output")
        first.kill()
    go_on.touch()
    second = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = second.stdout.splitlines()
    assert r"action-0 succeeded: b'one\ntwo\n'" in said, second.stdout + second.stderr
    assert '"outcome": "failed"' in ledger.read_text()
