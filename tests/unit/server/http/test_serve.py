"""The server on a real port of this machine: connections, streams, clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rota.api.people import Role
from rota.clock import now_ms
from rota.server.http.app import make_app
from rota.server.http.limits import DEFAULT_LIMITS, Limits
from rota.server.http.serve import AddressError, RestServer
from rota.server.http.tls import self_signed
from rota.trust import Authority
from tests.unit.server.fake_desk import FakeDesk, as_desks
from tests.unit.server.fake_state import NOW_MS, secret_of

AUTHORIZED = f"authorization: bearer {secret_of(Role.VIEWER)}\r\n"

HOSTS = ["localhost", "127.0.0.1"]
AUTHORITY = Authority.create(now_ms())


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, path: str, headers: str = AUTHORIZED, method: str = "GET") -> None:
        await self.send(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n".encode())

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def until(self, text: bytes) -> bytes:
        async with asyncio.timeout(5):
            return await self._reader.readuntil(text)

    async def rest(self) -> bytes:
        async with asyncio.timeout(5):
            return await self._reader.read()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


Talk = Callable[[Client, FakeDesk, RestServer], Awaitable[None]]


def served(talk: Talk, limits: Limits = DEFAULT_LIMITS, folder: Path | None = None) -> None:
    """Runs a server, and `talk` over one connection to it."""

    async def run() -> None:
        desk, closing = FakeDesk(), asyncio.Event()
        certificate = None if folder is None else self_signed(folder, HOSTS, AUTHORITY, now_ms())
        app = make_app(as_desks(desk), limits, closing=closing, now_ms=lambda: NOW_MS)
        server = RestServer(app, "127.0.0.1", 0, limits=limits, certificate=certificate, closing=closing)
        await server.start()
        try:
            client = await connect(
                server, None if certificate is None else str(certificate.certificate.parent / "ca.pem")
            )
            await talk(client, desk, server)
            await client.close()
        finally:
            async with asyncio.timeout(8):
                await server.stop()

    asyncio.run(run())


async def connect(server: RestServer, authority: str | None = None) -> Client:
    port = int(server.url.rpartition(":")[2])
    context = None if authority is None else ssl.create_default_context(cafile=authority)
    return Client(*await asyncio.open_connection("127.0.0.1", port, ssl=context))


def problem_of(answer: bytes) -> dict[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    problem: dict[str, Any] = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return problem


def test_one_connection_takes_many_requests() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        for _ in range(3):
            await client.ask("/v1/me")
            answer = await client.until(b"}")
            assert b"HTTP/1.1 200 OK" in answer
            assert b"server:" not in answer.lower()

    served(talk)


@pytest.mark.covers("ops-2")
@pytest.mark.slow
def test_tls_works_with_the_servers_own_certificate(tmp_path: Path) -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        assert server.url.startswith("https://127.0.0.1:")
        await client.ask("/healthz", "")
        assert b"200 OK" in await client.until(b"}")

    served(talk, folder=tmp_path)


@pytest.mark.slow
def test_events_stream_on_from_the_last_one_seen_and_end_with_the_client() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        other = await connect(server)
        await other.ask("/v1/events/stream", f"{AUTHORIZED}last-event-id: 1\r\n")
        head = await other.until(b"\r\n\r\n")
        assert b"text/event-stream" in head
        events = await other.until(b"id: 3\nevent: job.Started\n")
        assert b"id: 2\n" in events
        assert b"id: 1\n" not in events
        assert desk.is_followed
        await other.close()
        async with asyncio.timeout(5):
            while desk.is_followed:
                await asyncio.sleep(0.001)

    served(talk)


@pytest.mark.slow
def test_events_stream_on_from_the_latest_few() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.ask("/v1/events/stream?last=1")
        events = await client.until(b"id: 3\nevent: job.Started\n")
        assert b"id: 2\n" not in events
        again = await connect(server)
        await again.ask("/v1/events/stream?last=1", f"{AUTHORIZED}last-event-id: 1\r\n")
        assert b"id: 2\n" in await again.until(b"id: 3\n"), "whoever was cut off goes on where that was"
        await again.close()

    served(talk)


@pytest.mark.slow
def test_streams_end_when_the_server_stops() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.ask("/v1/events/stream")
        await client.until(b"id: 3\n")
        stopping = asyncio.create_task(server.stop())
        assert (await client.rest()).endswith(b"0\r\n\r\n")
        await stopping

    served(talk)


@pytest.mark.parametrize("sent", [b"", b"GET /v1/me HTT", b"GET /v1/me HTTP/1.1\r\nx: y\r\n"])
@pytest.mark.slow
def test_whoever_does_not_finish_asking_is_sent_away(sent: bytes) -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.send(sent)
        assert problem_of(await client.rest())["type"] == "/problems/timeout"

    served(talk, Limits(header_seconds=0.05))


@pytest.mark.slow
def test_headers_have_a_limit() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.send(b"GET / HTTP/1.1\r\nx: " + b"y" * 3000)
        assert problem_of(await client.rest())["type"] == "/problems/headers-too-large"

    served(talk, Limits(header_bytes=2000))


@pytest.mark.slow
def test_what_is_no_http_gets_a_problem() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.send(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert problem_of(await client.rest())["type"] == "/problems/bad-request"

    served(talk)


@pytest.mark.slow
def test_connections_have_a_limit() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        await client.ask("/healthz", "")
        await client.until(b"}")
        silent = await connect(server)
        # Whoever has proved nothing gives way to whoever comes later.
        assert await client.rest() == b""
        other = await connect(server)
        assert problem_of(await silent.rest())["type"] == "/problems/too-many-connections"
        await other.ask("/v1/me")
        await other.until(b"}")
        await silent.close()
        await other.close()

    served(talk, Limits(connections=1))


@pytest.mark.slow
def test_a_body_that_does_not_arrive_ends_the_request() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        headers = f"authorization: bearer {secret_of(Role.ADMIN)}\r\ncontent-length: 10\r\n"
        await client.ask("/v1/jobs", headers, "POST")
        assert problem_of(await client.rest())["type"] == "/problems/timeout"
        assert not desk.changes

    served(talk, Limits(body_seconds=0.05))


@pytest.mark.slow
def test_a_port_in_use_is_told() -> None:
    async def talk(client: Client, desk: FakeDesk, server: RestServer) -> None:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(AddressError, match="give another port"):
            await RestServer(make_app(as_desks(desk)), "127.0.0.1", port).start()

    served(talk)


@pytest.mark.parametrize("port", [-1, 70_000])
def test_absurd_ports_are_told(port: int) -> None:
    with pytest.raises(AddressError, match="give"):
        asyncio.run(RestServer(make_app(as_desks(FakeDesk())), "127.0.0.1", port).start())
