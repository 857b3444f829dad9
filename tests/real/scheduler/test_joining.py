"""Machines join a scheduler without any server: by an authority of its own, and with the same commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.stateless_scheduler.client import Action
from rota.trust.enrol import renew
from rota.trust.folder import read_identity
from tests.real.agents.stand import AgentProcess
from tests.real.scheduler.ledger import Remembering, directing, token_of
from tests.real.scheduler.stand import PATIENT_S, SchedulerStand
from tests.real.server.rota_server import PATIENCE_S, eventually, shell

pytestmark = [pytest.mark.covers("ops-2"), pytest.mark.slow]

OPERATOR = "o" * 30


def rota(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rota", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


class Place:
    """A scheduler with an authority, and somebody who may invite."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "authority"
        made = rota("scheduler", "authority", str(self.authority), "--host", "127.0.0.1")
        assert made.returncode == 0, made.stderr
        self.stand = SchedulerStand(folder / "stand", PATIENT_S, "--authority", str(self.authority))
        with self.stand.tokens.open("a") as tokens:
            tokens.write(f"alice {OPERATOR} operator\n")
        self.stand.start(is_tls=True)

    @property
    def ca(self) -> Path:
        return self.authority / "ca.pem"

    def as_(self, token: str, *words: str) -> subprocess.CompletedProcess[str]:
        return rota(*words, ROTA_URL=f"https://{self.stand.rest}", ROTA_TOKEN=token, ROTA_CA=str(self.ca))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.stand.remove()


async def test_a_machine_joins_works_and_is_cut_off(place: Place, tmp_path: Path) -> None:
    token = place.as_(OPERATOR, "agent", "token", "--name", "m1").stdout.strip()
    folder = tmp_path / "m1"
    joined = rota("agent", "join", token, "--data", str(folder))
    assert joined.returncode == 0, joined.stderr
    again = rota("agent", "join", token, "--data", str(tmp_path / "m2"))
    assert again.returncode != 0
    assert "no such invitation" in again.stderr

    before = read_identity(folder)
    assert (before.name, before.agents_address) == ("m1", place.stand.target)
    assert renew(folder).certificate != before.certificate
    # A scheduler that was started anew knows nothing of it, and lets it in.
    place.stand.kill()
    place.stand.start(is_tls=True)
    machine = AgentProcess(folder, "", "")
    place.stand.agents["m1"] = machine
    machine.begin("agent", "--data", str(folder))

    ledger = Remembering()
    async with directing(place.stand.controllers, ledger, ca=place.ca.read_bytes()) as client:
        client.submit(ledger.add(Action("a", shell("printf x > out; echo hi", outputs=["out"]))))
        assert (await ledger.end_of("a")).outcome == "succeeded"
        assert (ledger.wrote("a"), ledger.files) == (b"hi\n", {("a", "out"): b"x"})
    assert "is connected" in place.as_(OPERATOR, "agent", "token", "--name", "m1").stderr

    (place.authority / "revoked").write_text("m1\n")
    eventually(lambda: "was revoked" in machine.log.read_text(), "the agent to be refused")


def test_who_may_invite_and_whom(place: Place) -> None:
    refused = place.as_(token_of("ci"), "agent", "token", "--name", "m1")
    assert refused.returncode != 0
    assert "needs the role operator" in refused.stderr
    nameless = place.as_(OPERATOR, "agent", "token")
    assert nameless.returncode != 0
    assert "--name" in nameless.stderr
    revoked = place.as_(OPERATOR, "agent", "revoke", "m1")
    assert revoked.returncode != 0
    assert "`revoked`" in revoked.stderr
