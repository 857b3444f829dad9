"""Commands in containers, of a server that speaks the channel protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer
from msgspec import json

from rota.kube.api.access import ClusterAccess
from rota.kube.api.client import Client
from rota.kube.api.credentials import Credentials, FixedCredentials
from rota.kube.api.errors import Forbidden, Unreachable
from rota.kube.api.remote_command import Channel, exec_path

pytestmark = pytest.mark.covers("back-3")

Said = Callable[[web.WebSocketResponse], Awaitable[None]]
CUT_OFF = json.encode({"status": "Success"})
"""What an API server says when the kubelet went away: it never comes of a command that has ended, see
`exec_path`."""


def exited(code: int) -> bytes:
    return json.encode(
        {
            "status": "Failure",
            "message": f"command terminated with exit code {code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }
    )


SUCCESS = exited(86)


def test_the_address_of_a_command() -> None:
    assert exec_path("ns", "pod", "c", ["sh", "-c", "a b&c"], has_input=True) == (
        "/api/v1/namespaces/ns/pods/pod/exec?container=c"
        "&command=%2Fbin%2Fsh&command=-c&command=%22%24%40%22+%26%26+exit+86&command=sh"
        "&command=sh&command=-c&command=a+b%26c&stdin=true&stdout=true&stderr=true"
    )


def ask(said: Said, question: Callable[[Client], Awaitable[None]]) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer t"
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        await said(socket)
        await socket.close()
        return socket

    async def main() -> None:
        app = web.Application()
        app.router.add_get("/api/v1/namespaces/ns/pods/pod/exec", handle)
        async with TestServer(app) as server:
            access = ClusterAccess(f"http://127.0.0.1:{server.port}", FixedCredentials(Credentials("t")))
            async with Client(access) as client:
                await question(client)

    asyncio.run(main())


async def run(client: Client, given: bytes = b"") -> tuple[list[tuple[Channel, bytes]], int | None, str]:
    async with client.run_in("ns", "pod", "c", ["true"], has_input=bool(given)) as running:
        if given:
            await running.send(given)
        pieces: list[Any] = [tuple(piece) async for piece in running.pieces()]
    return pieces, running.exit_code, running.problem


@pytest.mark.parametrize(
    "status, exit_code, problem",
    [
        (SUCCESS, 0, ""),
        (exited(3), 3, ""),
        (b'{"status": "Failure", "message": "gone"}', None, "gone"),
        (CUT_OFF, None, "the connection ended before the command did"),
    ],
)
def test_what_it_writes_and_how_it_ends(status: bytes, exit_code: int | None, problem: str) -> None:
    async def said(socket: web.WebSocketResponse) -> None:
        for message in (b"\1", b"\1out", b"\2err", b"\1 more", b"\3" + status):
            await socket.send_bytes(message)

    async def question(client: Client) -> None:
        pieces = [(Channel.OUT, b"out"), (Channel.ERR, b"err"), (Channel.OUT, b" more")]
        assert await run(client) == (pieces, exit_code, problem)

    ask(said, question)


def test_what_it_reads_comes_in_pieces() -> None:
    given = bytes(200_000)

    async def said(socket: web.WebSocketResponse) -> None:
        received = b""
        while len(received) < len(given):
            message = await socket.receive()
            assert message.type is WSMsgType.BINARY
            assert message.data[0] == Channel.IN
            received += message.data[1:]
        await socket.send_bytes(b"\3" + SUCCESS)

    async def question(client: Client) -> None:
        assert await run(client, given) == ([], 0, "")

    ask(said, question)


def test_a_connection_that_ends_before_the_command_is_no_end() -> None:
    async def said(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\1half")

    async def question(client: Client) -> None:
        with pytest.raises(Unreachable, match="ended before the command did"):
            await run(client)

    ask(said, question)


def test_a_refusal() -> None:

    async def main() -> None:
        async def refuse(request: web.Request) -> web.StreamResponse:
            raise web.HTTPForbidden

        app = web.Application()
        app.router.add_get("/api/v1/namespaces/ns/pods/pod/exec", refuse)
        async with TestServer(app) as server:
            access = ClusterAccess(f"http://127.0.0.1:{server.port}", FixedCredentials(Credentials("t")))
            async with Client(access) as client:
                with pytest.raises(Forbidden, match="pods/exec"):
                    await run(client)

    asyncio.run(main())
