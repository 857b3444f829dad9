"""Whoever takes all connections that there are keeps nobody else from theirs."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import urllib3

from rota.api.people import Role
from rota.sdk.client import Client
from tests.real.conftest import missing
from tests.real.server.conftest import NewServer, new_server
from tests.real.server.rota_server import NO_RETRIES, RotaServer, eventually

__all__ = ["new_server"]
pytestmark = [pytest.mark.slow, pytest.mark.covers("trust-1")]

CROWD = 1_100
STREAMS_OF_A_TOKEN = 50


@pytest.fixture(autouse=True)
def _many_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * CROWD
    if hard < needed:
        missing(f"{needed} open files are needed, and {hard} are allowed; raise ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def dial(server: RotaServer, stack: ExitStack, said: bytes = b"") -> socket.socket:
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    one = stack.enter_context(socket.create_connection(address, 30))
    if said:
        one.sendall(said)
    return one


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /v1/me HTTP/1.1\r\n",
        b"POST /v1/agents/join HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
    ids=["silent", "half a head", "half a body", "idle"],
)
def test_a_thousand_without_a_token(new_server: NewServer, said: bytes) -> None:
    server = new_server()
    with ExitStack() as stack, server.impatient() as client:
        client.me()
        for number in range(CROWD):
            dial(server, stack, said)
            if number % 100 == 99:
                # Both who is there already, and who comes now.
                assert client.me().role is Role.ADMIN
                assert server.rest("GET", "/v1/me")[0] == 200


def test_a_thousand_streams_of_one_viewer(new_server: NewServer) -> None:
    server = new_server()
    viewer = server.client.add_token("eve", Role.VIEWER).secret
    ask = f"GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {viewer}\r\n\r\n".encode()
    with ExitStack() as stack:
        answers = []
        for _ in range(STREAMS_OF_A_TOKEN + 10):
            one = dial(server, stack, ask)
            answers.append(one.recv(4096).split(b" ", 2)[1])
        assert answers == [b"200"] * STREAMS_OF_A_TOKEN + [b"429"] * 10
        assert server.rest("GET", "/v1/me")[0] == 200
        with server.impatient() as client:
            assert next(iter(client.events()), None) is not None

    def is_followed() -> bool:
        with ExitStack() as stack:
            return dial(server, stack, ask).recv(4096).startswith(b"HTTP/1.1 200")

    eventually(is_followed, "their places to be free again")


def test_one_users_connections_leave_room_for_others(new_server: NewServer, tmp_path: Path) -> None:
    """Uploads that never end, as many as there are places; an operator comes in all the same."""
    settings = tmp_path / "rota.toml"
    settings.write_text("[server.limits]\nconnections = 20\nconnections_per_user = 10\n")
    server = new_server("--config", str(settings))
    members = dict.fromkeys(("ada", "bob", "eve"), Role.SUBMITTER)
    server.client.set_project("default", members=members)
    secrets = [server.client.add_token(name, Role.SUBMITTER).secret for name in members]
    with ExitStack() as stack:
        statuses = []
        for secret in secrets[:2]:
            ask = (
                f"PUT /v1/files/{'0' * 64} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n"
                "content-length: 10\r\n\r\n0"
            )
            for _ in range(11):
                statuses.append(peek(dial(server, stack, ask.encode())))
        assert statuses == ([b""] * 10 + [b"429"]) * 2
        with (
            Client(server.url, secrets[2], retries=NO_RETRIES) as eve,
            pytest.raises(Exception, match="20 conn"),
        ):
            eve.me()
        with urllib3.PoolManager() as pool:
            headers = {"Authorization": f"Bearer {server.token}"}
            answer = pool.request("GET", f"{server.url}/v1/me", headers=headers, retries=False)
            assert answer.status == 200


def peek(one: socket.socket) -> bytes:
    """The status of an answer, if one comes soon."""
    one.settimeout(1)
    try:
        return one.recv(4096).split(b" ", 2)[1]
    except TimeoutError:
        return b""
