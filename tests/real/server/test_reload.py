"""The policy is read again while jobs wait and run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from msgspec import json

from rota.api.people import Role
from rota.lifecycle.state import Phase
from rota.sdk.errors import RotaError
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import eventually, shell

BEFORE = "queues:\n  - {name: default}\n  - {name: side}\n"
AFTER = """\
queues:
  - {name: default, order: 3}
  - {name: desk, interactive: true, order: -1}
limits:
  users:
    ada: {waiting_jobs: 1}
"""


@pytest.mark.covers("ops-4")
def test_a_new_policy_counts_while_everything_goes_on(new_server: NewServer, tmp_path: Path) -> None:
    policy, told = tmp_path / "policy.yaml", tmp_path / "told"
    policy.write_text(BEFORE)
    server = new_server("--policy", str(policy))
    running = server.submit_one(shell(f"while [ ! -e {told} ]; do sleep 0.05; done"))
    server.started(running)
    homeless = server.submit_one(shell("true", queue="side", hold=True))
    assert "unknown queue" in _refused(server.rota("submit", "--queue", "desk", "--", "true").stderr)

    policy.write_text(AFTER)
    would = json.decode(server.cli("server", "reload", "--dry-run", "-o", "json"))
    assert {one["field"]: (one["before"], one["after"]) for one in would["changes"]} == {
        "queues[default].order": (None, "3"),
        "queues[side].name": ("side", None),
        "queues[desk].name": (None, "desk"),
        "queues[desk].interactive": (None, "true"),
        "queues[desk].order": (None, "-1"),
        "limits.users.ada.waiting_jobs": (None, "1"),
    }
    assert would["homeless"] == [{"queue": "side", "jobs": 1}]
    assert "desk" not in [queue.name for queue in server.client.queues()]

    said = server.rota("server", "reload")
    assert (said.returncode, "uses the new policy" in said.stderr) == (0, True), said.stderr
    assert "1 waiting job of queue side" in said.stderr
    assert "desk" in [queue.name for queue in server.client.queues()]
    assert server.over(server.submit_one(shell("true", queue="desk"))).phase is Phase.SUCCEEDED
    assert server.client.job(running).job.phase is Phase.RUNNING
    told.touch()
    assert server.over(running).phase is Phase.SUCCEEDED
    assert server.client.job(homeless).job.phase is Phase.CREATED
    [event] = [one for one in server.client.events() if one.kind == "server.Reloaded"]
    assert "queues[desk].order" in event.data["changes"]  # type: ignore[operator]
    assert any(
        one.route == "/v1/server/reload" and one.verdict.value == "done" for one in server.client.audit()
    )


def test_a_policy_with_a_mistake_changes_nothing_and_is_told_by_line(
    new_server: NewServer, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(BEFORE)
    server = new_server("--policy", str(policy))
    policy.write_text("queues:\n  - {name: default}\n  - {name: desk, ordr: 1}\n")
    said = server.rota("server", "reload")
    assert said.returncode == 1
    assert f"{policy}:3" in said.stderr
    assert "ordr" in said.stderr
    assert "nothing was changed" in said.stderr
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: "server.not_reloaded" in server.log.read_text(), "the log to tell")
    assert {queue.name for queue in server.client.queues()} == {"default", "side"}
    policy.write_text(AFTER)
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: "desk" in [queue.name for queue in server.client.queues()], "the new policy to count")


def test_only_admins_reload(new_server: NewServer) -> None:
    server = new_server()
    token = server.client.add_token("olga", Role.OPERATOR).secret
    with server.impatient(token) as operator, pytest.raises(RotaError, match="admin"):
        operator.reload_server()


def _refused(text: str) -> str:
    return text.replace("there is no queue", "unknown queue")
