"""Connections to an API server: kept open, shared by all calls, renewed when the account's certificate is.

What every request has in common is made once: TLS settings, headers, the way past what aiohttp would do
for each by itself. A thousand bindings in a second leave no time for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from rota.kube.api.access import ClusterAccess
from rota.kube.api.credentials import Certificate, Credentials
from rota.kube.api.errors import Call, NotConnected, Unreachable, Untrusted, Withheld

_READ_BUFFER_BYTES = 2**18
_TURNS_TO_CLOSE = 10
_FAILURES = (aiohttp.ClientError, TimeoutError, OSError)


class Request(NamedTuple):
    call: Call
    method: str
    path: str
    """With its query, quoted."""
    body: bytes | None = None
    content_type: str = ""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Refused(Exception):
    """Of a connection in both directions: what the server answered instead."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class _MayNotSend(Exception):
    pass


class _GuardedBody(aiohttp.BytesPayload):
    """Asks whether it may be sent in the very step that sends it, headers included: until there is a
    connection much time may pass, above all if the whole process stands still meanwhile."""

    def __init__(self, body: bytes, may_send: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_send = may_send

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_send():
            raise _MayNotSend
        await super().write_with_length(writer, content_length)


class _Channel:
    """Connections that show one certificate. Once they are replaced, they close with their last call."""

    def __init__(self, access: ClusterAccess, certificate: Certificate | None) -> None:
        tls = access.tls(certificate)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, ssl=tls if tls is not None else True, keepalive_timeout=60
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=_READ_BUFFER_BYTES,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        self.certificate = certificate
        self._calls = 0
        self._is_retired = False

    async def __aenter__(self) -> aiohttp.ClientSession:
        self._calls += 1
        return self._session

    async def __aexit__(self, *_: object) -> None:
        self._calls -= 1
        if self._is_retired and not self._calls:
            await self._session.close()

    async def retire(self) -> None:
        self._is_retired = True
        if not self._calls:
            await self._session.close()

    async def close(self) -> None:
        await self._session.close()


class Connections:
    def __init__(self, access: ClusterAccess, most: int, user_agent: str) -> None:
        self._access = access
        self.free = asyncio.Semaphore(most)
        """For who waits until a connection is free: aiohttp's own limit would let the time of a call run."""
        self._user_agent = user_agent
        self._channel: _Channel | None = None
        self._credentials: Credentials | None = None
        self._headers: dict[str, dict[str, str]] = {}
        """By content type."""

    async def fetch(
        self,
        request: Request,
        credentials: Credentials,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 – aiohttp's: several limits in one
        may_send: Callable[[], bool] | None = None,
    ) -> Answer:
        """The whole answer, also where nobody looks at it: only then the connection is free for the next.

        `may_send` is asked right before something is sent that has a body. Raises Unreachable, Withheld.
        """
        try:
            async with (
                await self._current(credentials) as session,
                self._sent(session, request, timeout, may_send) as sent,
            ):
                return Answer(sent.status, sent.headers, await sent.read())
        except _FAILURES as error:
            if isinstance(error.__cause__, _MayNotSend):
                raise Withheld(request.call) from None
            raise _failure(request.call, error) from None

    @asynccontextmanager
    async def stream(
        self,
        request: Request,
        credentials: Credentials,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 – aiohttp's: several limits in one
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that comes bit by bit. Raises Unreachable, also for what goes wrong while it is read."""
        try:
            async with (
                await self._current(credentials) as session,
                self._sent(session, request, timeout) as sent,
            ):
                try:
                    yield sent
                finally:
                    _hang_up(sent)
        except _FAILURES as error:
            raise _failure(request.call, error) from None

    @asynccontextmanager
    async def websocket(
        self, request: Request, credentials: Credentials, protocols: tuple[str, ...], connect_s: float
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Both sides send. Raises Refused with what the server answered instead; Unreachable, also for what
        goes wrong later."""
        try:
            async with await self._current(credentials) as session:
                headers = self._headers.get("") or self._headers_for("")
                async with asyncio.timeout(connect_s):
                    socket = await session.ws_connect(
                        URL(self._access.server + request.path, encoded=True),
                        protocols=protocols,
                        headers=headers,
                        server_hostname=self._access.server_name,
                        max_msg_size=0,
                        heartbeat=30.0,
                        autoclose=True,
                    )
                try:
                    yield socket
                finally:
                    await socket.close()
        except aiohttp.WSServerHandshakeError as error:
            raise Refused(error.status, error.message) from None
        except _FAILURES as error:
            raise _failure(request.call, error) from None

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
            # What was hung up is closed in the loop's next turn; where TLS has to end first, some later.
            for _ in range(_TURNS_TO_CLOSE):
                await asyncio.sleep(0)

    def _sent(
        self,
        session: aiohttp.ClientSession,
        request: Request,
        timeout: aiohttp.ClientTimeout,
        may_send: Callable[[], bool] | None = None,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        body: bytes | aiohttp.BytesPayload | None = request.body
        if request.body is not None and may_send is not None:
            body = _GuardedBody(request.body, may_send)
        return session.request(
            request.method,
            URL(self._access.server + request.path, encoded=True),
            data=body,
            headers=self._headers.get(request.content_type) or self._headers_for(request.content_type),
            timeout=timeout,
            server_hostname=self._access.server_name,
            allow_redirects=False,
        )

    async def _current(self, credentials: Credentials) -> _Channel:
        before = self._channel
        if before is not None and credentials is self._credentials:
            return before
        self._credentials = credentials
        self._headers.clear()
        if before is not None and before.certificate == credentials.certificate:
            return before
        self._channel = now = _Channel(self._access, credentials.certificate)
        if before is not None:
            await before.retire()
        return now

    def _headers_for(self, content_type: str) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            # Within a cluster, compressing costs both sides more than sending.
            "Accept-Encoding": "identity",
            "User-Agent": self._user_agent,
        }
        if content_type:
            headers["Content-Type"] = content_type
        if self._credentials is not None and self._credentials.token:
            headers["Authorization"] = f"Bearer {self._credentials.token}"
        self._headers[content_type] = headers
        return headers


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """An answer that isn't read to its end has its connection for itself: nobody waits for a goodbye."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _failure(call: Call, error: Exception) -> Unreachable:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Untrusted(call, str(error.certificate_error))
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotConnected(call, str(error))
    return Unreachable(call, str(error) or type(error).__name__)
