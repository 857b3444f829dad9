"""The application of a server that isn't the leader: it forwards every request to the leader.

The leader's address and the certificate it shows are in its lease, so nothing has to be set up. Requests keep
their own tokens; bodies and streams are passed through as they arrive. See docs/decisions/0005-replicas.md.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    Fingerprint,
    ServerFingerprintMismatch,
    TCPConnector,
)
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send
from multidict import CIMultiDict
from yarl import URL

from rota.control.errors import Unavailable
from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker, BreakerState
from rota.patience.guard import Guard
from rota.server.browser.forgery import FORWARDED_HOST
from rota.server.http.places import PLACE, Rank
from rota.server.http.problems import ProblemError, problem_reply
from rota.server.http.reply import json_reply
from rota.server.http.streams import abort, disconnected
from rota.store.errors import StoreError
from rota.store.sql.leases import Lease

FORWARDED = "rota-forwarded"
"""A request with this header was passed on once already."""
FORWARDED_FOR = "x-forwarded-for"
_CONNECT_S = 5
_SILENCE_S = 60
"""Streams say something every 15 seconds."""
_REMEMBERED_S = 1.0
_BREAKER = Breaker(limit=5, pauses=Backoff(first_s=0.5, longest_s=5.0))
"""Requests that wait for a leader in vain would use up the connections of this server, too."""
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add by itself."""
_READING = ("GET", "HEAD")
_NOT_SENT = (ClientConnectorError, ConnectionTimeoutError, ServerFingerprintMismatch)

_log = structlog.get_logger("rota.server")


class Forward:
    def __init__(self, who_leads: Callable[[], Awaitable[Lease | None]], closing: asyncio.Event) -> None:
        self._guard = Guard(_BREAKER)
        self._who_leads = who_leads
        self._closing = closing
        self._leader: Lease | None = None
        self._address = ""
        self._asked_s = 0.0
        self._session: ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return
        try:
            reply = await self._own_answer(scope["path"])
            if reply is None:
                await self._pass_on(scope, receive, send)
                return
        except (ProblemError, Unavailable) as error:
            reply = problem_reply(error, scope["path"])
        await reply(scope, receive, send)

    async def _own_answer(self, path: str) -> ASGIApp | None:
        """About this server itself."""
        if path == "/healthz":
            return json_reply({"status": "ok"})
        if path == "/readyz":
            await self._find_leader()
            if self._guard.state is BreakerState.OPEN:
                raise _unreachable()
            return json_reply({"status": "standby"})
        return None

    async def _find_leader(self) -> Lease:
        now_s = asyncio.get_running_loop().time()
        if self._leader is None or now_s - self._asked_s > _REMEMBERED_S:
            try:
                found = await self._who_leads()
                if found is not None and found.address != self._address:
                    # What is known about another leader doesn't apply to this one.
                    self._address = found.address
                    self._guard = Guard(_BREAKER)
                self._leader = found
            except StoreError as error:
                _log.warning("leader.unknown", why=str(error))
                self._leader = None
            self._asked_s = now_s
        if self._leader is None or not self._leader.address:
            raise Unavailable("there is no leader at the moment")
        return self._leader

    async def _pass_on(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        headers = _headers(scope["headers"])
        if FORWARDED in headers:
            raise Unavailable("the leader is changing")
        leader = await self._find_leader()
        if self._guard.admit() > 0:
            raise _unreachable()
        try:
            answer = await self._ask(leader, scope, headers, receive)
        except _NOT_SENT as error:
            self._leader = None
            self._guard.failed()
            _log.warning("leader.unreachable", leader=leader.address, why=repr(error))
            raise _unreachable() from None
        except (ClientError, TimeoutError, ConnectionError) as error:
            self._leader = None
            self._guard.failed()
            _log.warning("leader.no_answer", leader=leader.address, why=repr(error))
            if scope["method"] in _READING:
                raise Unavailable("the leader didn't answer") from None
            raise _no_answer() from None
        self._guard.succeeded()
        async with answer:
            _note_proof(scope, headers, answer)
            await self._relay(answer, scope, receive, send)

    async def _ask(
        self, leader: Lease, scope: HTTPScope, headers: CIMultiDict[str], receive: Receive
    ) -> ClientResponse:
        path = scope["raw_path"].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        url = f"{leader.address}/{path.lstrip('/')}{'?' if query else ''}{query}"
        has_body = "content-length" in headers or "transfer-encoding" in headers
        sent = CIMultiDict((name, value) for name, value in headers.items() if name not in _HOP_BY_HOP)
        sent.popall(FORWARDED_HOST, None)
        sent[FORWARDED_HOST] = ",".join(sent.popall("host", []))
        sent[FORWARDED] = "1"
        client = scope.get("client")
        if client:
            # Counts where this server is one of the leader's trusted proxies.
            before = [*sent.popall(FORWARDED_FOR, []), client[0]]
            sent[FORWARDED_FOR] = ", ".join(before)
        fingerprint = leader.certificate_sha256
        return await self._connected().request(
            scope["method"],
            URL(url, encoded=True),
            headers=sent,
            data=_body(receive) if has_body else None,
            # The certificate is in the store, so its signer doesn't matter.
            ssl=Fingerprint(bytes.fromhex(fingerprint)) if fingerprint else True,
            allow_redirects=False,
            skip_auto_headers=_OURS,
        )

    def _connected(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(
                connector=TCPConnector(limit=0),
                cookie_jar=DummyCookieJar(),
                auto_decompress=False,
                timeout=ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S),
            )
        return self._session

    async def _relay(self, answer: ClientResponse, scope: HTTPScope, receive: Receive, send: Send) -> None:
        kept = [
            (name.lower(), value)
            for name, value in answer.raw_headers
            if name.decode("latin-1").lower() not in _HOP_BY_HOP
        ]
        gone = asyncio.ensure_future(disconnected(receive))
        closing = asyncio.ensure_future(self._closing.wait())
        ends = (gone,) if answer.content_length is not None else (gone, closing)
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            while True:
                upcoming = asyncio.ensure_future(answer.content.readany())
                done, _ = await asyncio.wait((upcoming, *ends), return_when=FIRST_COMPLETED)
                if upcoming not in done:
                    upcoming.cancel()
                chunk = upcoming.result() if upcoming in done else b""
                if not chunk:
                    break
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (ClientError, TimeoutError) as error:
            # The answer has begun: all that is left to say is that it isn't complete.
            _log.warning("leader.answer_interrupted", path=scope["path"], why=repr(error))
            abort(scope)
        finally:
            gone.cancel()
            closing.cancel()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """As it arrives. The leader holds it to its limits."""
    more = True
    while more:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client went away")
        more = message.get("more_body", False)
        if chunk := message.get("body", b""):
            yield chunk


def _note_proof(scope: HTTPScope, headers: CIMultiDict[str], answer: ClientResponse) -> None:
    """The leader knows the user of a token; here it is enough that it accepted the token. Raises a problem if
    the client with this token has too many connections."""
    place = scope["state"].get(PLACE)
    shown = headers.get("authorization")
    if place is not None and shown and answer.status != HTTPStatus.UNAUTHORIZED:
        place.proved(f"token {sha256(shown.encode()).hexdigest()}", Rank.USER)


def _headers(raw: Any) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)


def _unreachable() -> Unavailable:
    return Unavailable("the leader can't be reached")


def _no_answer() -> ProblemError:
    return ProblemError(
        HTTPStatus.BAD_GATEWAY,
        "no-answer",
        "the leader went away before it answered: it is unknown whether the change was made",
        help="send the request again; with the same Idempotency-Key the change is made only once",
        headers=(("retry-after", "1"),),
    )
