"""Who may knock where agents do: nobody who can merely dial."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from rota.lifecycle.state import Phase
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub
from tests.real.agents.fleet import free_port
from tests.real.agents.stand import AgentProcess
from tests.real.conftest import missing
from tests.real.scheduler.stand import SchedulerStand
from tests.real.server.conftest import NewServer, new_server
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("ops-2", "trust-2")]

__all__ = ["new_server"]

STRANGER = 9002
"""Another user of this machine: nobody has to know it."""
DIAL = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that every user of this machine may enter, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp(prefix="rota-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_port_of_this_machine_is_no_way_in(new_server: NewServer, tmp_path: Path) -> None:
    """The attack: another user's `rota agent` got other people's jobs, with their environment."""
    port = free_port()
    server = new_server("--agents", f"127.0.0.1:{port}")
    hello = wire.AgentNews(hello=wire.Hello(protocol=1, name="evil", instance="evil"))
    with (
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        next(AgentsStub(channel).Attend(iter([hello]), timeout=PATIENCE_S))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    tried = server.rota(
        "agent", "--server", f"127.0.0.1:{port}", "--name", "evil", "--data", str(tmp_path / "evil")
    )
    assert tried.returncode == 1
    assert "hasn't joined" in tried.stderr
    assert "rota agent join" in tried.stderr
    assert {node.name for node in server.client.nodes()} == {server.node}


def test_the_socket_is_for_the_servers_user_alone(new_server: NewServer, open_folder: Path) -> None:
    path = open_folder / "door" / "agents.sock"
    new_server("--agents", f"unix:{path}")
    assert_only_ours(path)


def test_nor_does_a_scheduler_take_others(open_folder: Path) -> None:
    stand = SchedulerStand(open_folder / "scheduler")
    (open_folder / "scheduler").chmod(0o755)
    stand.start()
    try:
        assert_only_ours(Path(stand.target.removeprefix("unix:")))
    finally:
        stand.remove()


def assert_only_ours(path: Path) -> None:
    if os.geteuid() != 0:
        missing("only root can be another user")
    dial = [sys.executable, "-c", DIAL, str(path)]
    assert subprocess.run(dial, capture_output=True).returncode == 0
    refused = subprocess.run(
        ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", *dial],
        capture_output=True,
        text=True,
    )
    assert refused.returncode != 0
    assert "Permission denied" in refused.stderr


@pytest.mark.parametrize("flags", [(), ("--tls-self-signed", "--address", "0.0.0.0")])
def test_an_agent_of_the_same_user_needs_one_word(
    new_server: NewServer, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """With files in and out, so by REST too, whoever signed the server's certificate."""
    settings = tmp_path / "rota.toml"
    settings.write_text("[server]\nembedded_worker = false\n")
    server = new_server("--config", str(settings), "--agents", "unix", *flags)
    agent = LocalAgent(server, tmp_path / "agent")
    try:
        agent.begin("agent", "--server", "unix", "--name", "one", "--data", str(agent.folder))
        eventually(lambda: [node.ready for node in server.client.nodes()] == [True], "the agent")
        sha256 = server.client.upload(b"in")
        file = {"path": "in", "sha256": sha256, "size": 2}
        job = server.run(shell("cat in > out", files=[file], outputs=["out"]))
        assert job.phase is Phase.SUCCEEDED, agent.log.read_text()
        assert server.client.output(job.id, "out") == b"in"
    finally:
        agent.end()


class LocalAgent(AgentProcess):
    """In the environment of the server's user: it finds the socket where the server has it."""

    def __init__(self, server: RotaServer, folder: Path) -> None:
        super().__init__(folder, "one", "unix")
        self._server = server

    def begin(self, *words: str) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rota", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._server.environment,
            )

    def end(self) -> None:
        asyncio.run(self.remove())


# -- what is said on the way


def rsa_certificate(folder: Path) -> tuple[Path, Path]:
    """With such a key the old suites without forward secrecy could be used as well."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    certificate, secret = folder / "rsa.crt", folder / "rsa.key"
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, secret


def taken_suites(address: tuple[str, int]) -> set[str]:
    """Of all that this machine's OpenSSL has, tried one by one with TLS 1.2; and what 1.3 takes."""
    everything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    everything.set_ciphers("ALL:@SECLEVEL=0")
    names = [each["name"] for each in everything.get_ciphers() if each["protocol"] != "TLSv1.3"]
    taken = set()
    for name in [*names, ""]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if name:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(f"{name}:@SECLEVEL=0")
        try:
            with (
                socket.create_connection(address, PATIENCE_S) as plain,
                context.wrap_socket(plain) as line,
            ):
                cipher = line.cipher()
                assert cipher is not None
                taken.add(cipher[0])
        except (ssl.SSLError, ConnectionError):
            continue
    return taken


def assert_forward_secret(taken: set[str]) -> None:
    assert any(name.startswith("TLS_") for name in taken), "TLS 1.3"
    older = {name for name in taken if not name.startswith("TLS_")}
    assert older, "TLS 1.2"
    assert all(name.startswith("ECDHE-") for name in older), older
    assert all("GCM" in name or "CHACHA20-POLY1305" in name for name in older), older


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_versions_are_refused(new_server: NewServer, version: ssl.TLSVersion) -> None:
    server = new_server("--tls-self-signed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    with (
        socket.create_connection(address, PATIENCE_S) as plain,
        pytest.raises(OSError, match=r"(?i)ssl|reset"),
    ):
        context.wrap_socket(plain)


def test_every_suite_of_a_server_has_forward_secrecy(new_server: NewServer, tmp_path: Path) -> None:
    certificate, key = rsa_certificate(tmp_path)
    server = new_server("--tls-cert", str(certificate), "--tls-key", str(key))
    assert_forward_secret(taken_suites(("127.0.0.1", int(server.url.rpartition(":")[2]))))


def test_every_suite_of_a_scheduler_has_forward_secrecy(tmp_path: Path) -> None:
    certificate, key = rsa_certificate(tmp_path)
    stand = SchedulerStand(tmp_path / "stand", 60.0, "--tls-cert", str(certificate), "--tls-key", str(key))
    stand.start(is_tls=True)
    try:
        for address in (stand.rest, stand.controllers):
            host, _, port = address.rpartition(":")
            assert_forward_secret(taken_suites((host, int(port))))
    finally:
        stand.remove()
