"""Machines join with a token, prove who they are by their certificates, and are cut off when revoked."""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from rota.api.cluster import AgentState
from rota.lifecycle.state import Phase
from rota.trust import SERVER_NAME, Authority, agent_credentials
from rota.trust.enrol import renew
from rota.trust.folder import read_identity
from rota.trust.keys import key_pem, new_key
from rota.wire.agents_pb2_grpc import AgentsStub
from tests.real.agents.settings import SETTINGS
from tests.real.agents.stand import AgentProcess
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = [pytest.mark.covers("ops-2"), pytest.mark.slow]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RotaServer]:
    """One that takes those who have joined, and nobody else."""
    settings = tmp_path / "rota.toml"
    settings.write_text(SETTINGS)
    made = RotaServer(tmp_path / "server", "--config", str(settings), "--tls-self-signed")
    made.start()
    yield made
    made.remove()


class Machine(AgentProcess):
    """With a folder of its own, which is all that an agent needs once it has joined."""

    def __init__(self, folder: Path, server: RotaServer) -> None:
        super().__init__(folder, "", "")
        self._server = server

    def join(self, *invitation: str, name: str = "m1", status: int = 0) -> None:
        token = self._server.cli("agent", "token", *invitation).strip()
        self._server.cli("agent", "join", token, "--name", name, "--data", str(self.folder), status=status)

    def work(self) -> None:
        self.begin("agent", "--data", str(self.folder))


@pytest.fixture
def machine(tmp_path: Path, server: RotaServer) -> Iterator[Machine]:
    made = Machine(tmp_path / "m1", server)
    yield made
    asyncio.run(made.remove())


def state_of(server: RotaServer, name: str = "m1") -> AgentState:
    return next(agent.state for agent in server.client.agents() if agent.name == name)


def is_connected(server: RotaServer) -> bool:
    return state_of(server) is AgentState.CONNECTED


def test_a_machine_joins_works_and_is_cut_off(server: RotaServer, machine: Machine) -> None:
    machine.join("--pool", "gpu", "--label", "zone=a", "--price", "2")
    assert stat.S_IMODE((machine.folder / "identity.json").stat().st_mode) == 0o600
    assert state_of(server) is AgentState.AWAY
    machine.work()
    eventually(lambda: is_connected(server), "the agent to connect")
    job = server.run(shell("echo from afar"))
    assert job.phase is Phase.SUCCEEDED
    assert server.output(job.id) == "from afar\n"
    [node] = server.client.nodes()
    assert (node.name, node.pool, node.labels["zone"]) == ("m1", "gpu", "a")
    assert "m1" in server.cli("agent", "ls")

    server.cli("agent", "revoke", "m1")
    eventually(lambda: "was revoked" in machine.log.read_text(), "the agent to be refused")
    assert state_of(server) is AgentState.REVOKED
    [refused] = {event.subject for event in server.client.events(kind="agent.Refused")}
    assert refused == "m1"


def test_a_token_is_for_one_machine(server: RotaServer, machine: Machine, tmp_path: Path) -> None:
    token = server.cli("agent", "token").strip()
    server.cli("agent", "join", token, "--name", "m1", "--data", str(machine.folder))
    said = server.rota("agent", "join", token, "--name", "m2", "--data", str(tmp_path / "m2"))
    assert said.returncode != 0
    assert "no such invitation" in said.stderr
    assert not (tmp_path / "m2" / "identity.json").exists()
    assert [agent.name for agent in server.client.agents()] == ["m1"]


def test_a_server_that_did_not_make_the_token_is_not_believed(
    server: RotaServer, machine: Machine, tmp_path: Path
) -> None:
    other = RotaServer(tmp_path / "other", "--tls-self-signed")
    other.start()
    try:
        token = other.cli("agent", "token").strip()
        said = server.rota(
            "agent", "join", token, "--server", server.url, "--name", "m1", "--data", str(machine.folder)
        )
        assert said.returncode != 0
        assert not (machine.folder / "identity.json").exists()
        assert list(server.client.agents()) == []
    finally:
        other.remove()


def test_a_certificate_is_renewed_and_the_agent_goes_on(server: RotaServer, machine: Machine) -> None:
    machine.join()
    before = read_identity(machine.folder)
    after = renew(machine.folder)
    assert after.name == before.name
    assert after.key != before.key
    assert after.certificate != before.certificate
    machine.work()
    eventually(lambda: is_connected(server), "the agent to connect with its new certificate")


def stranger() -> tuple[bytes, bytes]:
    """Its key, and a certificate of an authority of its own."""
    key, now_ms = new_key(), time.time_ns() // 1_000_000
    certificate = Authority.create(now_ms).certify_agent("m1", key.public_key(), now_ms)
    return key_pem(key), certificate.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("who", ["nobody", "a stranger"])
def test_nobody_else_gets_in(server: RotaServer, machine: Machine, who: str) -> None:
    machine.join()
    identity = read_identity(machine.folder)
    key, certificate, ca = agent_credentials(machine.folder)
    shown = () if who == "nobody" else stranger()
    bad = grpc.ssl_channel_credentials(ca, *shown)
    options = (("grpc.ssl_target_name_override", SERVER_NAME),)
    with (
        grpc.secure_channel(identity.agents_address, bad, options=options) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        next(AgentsStub(channel).Attend(iter(())))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE  # The handshake fails.
    good = grpc.ssl_channel_credentials(ca, key, certificate)
    with grpc.secure_channel(identity.agents_address, good, options=options) as channel:
        grpc.channel_ready_future(channel).result(30)
