"""An API server that answers as it is told: for what a real one does only once in a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

from aiohttp import web
from msgspec import json

from rota.kube.api.access import ClusterAccess
from rota.kube.api.client import Client, Retries
from rota.kube.api.credentials import Credentials, CredentialSource, FixedCredentials
from rota.patience.backoff import Backoff

FAST = Retries(attempts=4, pauses=Backoff(0.001, 0.002))


class Answer(NamedTuple):
    status: int = 200
    body: object = None
    headers: dict[str, str] = {}  # noqa: RUF012 – never changed
    chunks: tuple[bytes, ...] = ()
    """Sent one by one, then the connection breaks off."""
    after_s: float = 0.0


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def client(self, credentials: CredentialSource | None = None, **options: Any) -> Client:
        source = credentials or FixedCredentials(Credentials("secret"))
        return Client(ClusterAccess(self.url, source), **{"retries": FAST, **options})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(Asked(request.method, request.path_qs, dict(request.headers), body))
        answer = self.answers.pop(0)
        if answer.after_s:
            await asyncio.sleep(answer.after_s)
        if answer.chunks:
            return await self._stream(request, answer.chunks)
        if answer.status == 0:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=answer.status, body=json.encode(answer.body or {}), headers=answer.headers)

    async def _stream(self, request: web.Request, chunks: tuple[bytes, ...]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.001)
        return response


def ask(question: Callable[[ScriptedServer], Awaitable[None]], *answers: Answer) -> ScriptedServer:
    async def main() -> ScriptedServer:
        async with ScriptedServer(*answers) as server:
            await question(server)
            return server

    return asyncio.run(main())


@asynccontextmanager
async def silent_server(said: bytes = b"") -> AsyncIterator[ScriptedServer]:
    """Takes connections, says so much on each, and nothing more."""
    connections: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        writer.write(said)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server = ScriptedServer()
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
        for connection in connections:
            connection.close()
        await asyncio.sleep(0)
