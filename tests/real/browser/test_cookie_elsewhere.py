"""A session's cookie counts in a browser, at REST, and nowhere else: not at the door of agents, and not as a
token of any kind."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from rota.backends.agents.messages import PROTOCOL
from rota.sdk.client import Client
from rota.sdk.errors import Unauthorised
from rota.trust import SERVER_NAME, agent_credentials
from rota.trust.folder import read_identity
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub
from tests.real.agents.caller import hello
from tests.real.agents.settings import SETTINGS
from tests.real.agents.stand import AgentProcess
from tests.real.browser.browser import Browser
from tests.real.hostile.matrix import TABLE, Entry, Scope
from tests.real.server.rota_server import RotaServer

pytestmark = [pytest.mark.covers("trust-6", "ops-2"), pytest.mark.slow]

PATIENCE_S = 30
COOKIE = "__Host-rota-session"
NAMES = dict.fromkeys(
    ("project", "done", "waiting", "running", "held", "array", "node", "token", "planted_file", "sha256"), "1"
)
GUARDED = [entry for entry in TABLE if entry.scope is not Scope.NOBODY]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    """One that agents have to join."""
    folder = tmp_path_factory.mktemp("joined")
    settings = folder / "rota.toml"
    settings.write_text(SETTINGS)
    made = RotaServer(folder / "server", "--config", str(settings), "--tls-self-signed")
    made.start()
    yield made
    made.remove()


@pytest.fixture(scope="module")
def session(server: RotaServer) -> str:
    """The cookie of an admin who is signed in."""
    with Browser(server) as browser:
        assert browser.post("/sign-in/token", json={"token": server.token}).status_code == 200
        assert browser.me()["role"] == "admin"
        return browser.cookies[COOKIE]


@pytest.fixture(scope="module")
def joined(server: RotaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an agent that has joined, and doesn't run."""
    agent = AgentProcess(tmp_path_factory.mktemp("m1"), "", "")
    invitation = server.cli("agent", "token").strip()
    server.cli("agent", "join", invitation, "--name", "m1", "--data", str(agent.folder))
    yield agent.folder
    asyncio.run(agent.remove())


def channel(joined: Path, *shown: bytes) -> grpc.Channel:
    _, _, ca = agent_credentials(joined)
    return grpc.secure_channel(
        read_identity(joined).agents_address,
        grpc.ssl_channel_credentials(ca, *shown),
        options=(("grpc.ssl_target_name_override", SERVER_NAME),),
    )


def metadata(session: str) -> list[tuple[tuple[str, str], ...]]:
    return [
        (("cookie", f"{COOKIE}={session}"),),
        (("authorization", f"Bearer {session}"),),
        (("cookie", f"{COOKIE}={session}"), ("authorization", f"Bearer {session}")),
    ]


def test_nobody_gets_past_the_door_of_agents_with_it(joined: Path, session: str) -> None:
    for said in metadata(session):
        words = iter([wire.AgentNews(hello=hello("m1", protocol=PROTOCOL))])
        with channel(joined) as line, pytest.raises(grpc.RpcError) as refused:
            next(AgentsStub(line).Attend(words, metadata=said, timeout=PATIENCE_S))
        # Without a certificate the handshake fails: nothing of what is said is even read.
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_it_is_no_session_of_an_agent(joined: Path, session: str) -> None:
    """Not even in the hands of one that may knock."""
    key, certificate, _ = agent_credentials(joined)
    opening = wire.Opening(session=session, ref=wire.TaskRef(job="1", rank=0, fence=1))
    for said in metadata(session):
        words = iter([wire.TaskNews(opening=opening)])
        with channel(joined, key, certificate) as line, pytest.raises(grpc.RpcError) as refused:
            next(AgentsStub(line).Perform(words, metadata=said, timeout=PATIENCE_S))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture(scope="module")
def http(server: RotaServer) -> Iterator[httpx.Client]:
    """Without cookies."""
    trusted = ssl.create_default_context(cafile=server.ca)
    with httpx.Client(base_url=server.url, verify=trusted, timeout=PATIENCE_S) as client:
        yield client


def _body(entry: Entry) -> dict[str, Any]:
    body = None if entry.body is None else entry.body(NAMES)
    return {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}


def test_it_is_no_bearer_token_of_any_route(http: httpx.Client, session: str) -> None:
    password = b64encode(f"admin:{session}".encode()).decode()
    for entry in GUARDED:
        for shown in (f"Bearer {session}", f"bearer {session}", f"Basic {password}", session):
            answer = http.request(
                entry.method, entry.target(NAMES), headers={"authorization": shown}, **_body(entry)
            )
            assert answer.status_code == 401, (entry.route, shown, answer.text)
            # Neither beside the cookie itself: whoever shows a token isn't a browser.
            sent = {"authorization": shown, "cookie": f"{COOKIE}={session}"}
            answer = http.request(entry.method, entry.target(NAMES), headers=sent, **_body(entry))
            assert answer.status_code == 401, (entry.route, shown, answer.text)


def test_nobody_signs_in_with_it(http: httpx.Client, session: str) -> None:
    assert http.post("/sign-in/token", json={"token": session}).status_code == 401
    assert http.post("/v1/auth/sign-in", json={"id_token": session}).status_code in (401, 404)


def test_it_invites_no_agent(http: httpx.Client, session: str) -> None:
    form = {"token": session, "name": "m2", "request": "r", "proof": "p"}
    assert http.post("/v1/agents/join", json=form).status_code == 422
    renewed = http.post(
        "/v1/agents/renew", json={"request": "r"}, headers={"authorization": f"Bearer {session}"}
    )
    assert renewed.status_code in (401, 422)


def test_it_is_no_token_of_a_client(server: RotaServer, session: str) -> None:
    with Client(server.url, session, ca=server.ca) as client, pytest.raises(Unauthorised):
        client.me()
    assert server.rota("ls", environment={"ROTA_TOKEN": session}).returncode == 4
