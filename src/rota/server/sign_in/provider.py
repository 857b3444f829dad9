"""The provider: where things are (OpenID Connect Discovery 1.0), and its keys; both are asked for rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import structlog
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from msgspec import MsgspecError, Struct, ValidationError, convert, json

from rota.control.errors import Unavailable
from rota.server.sign_in.id_token import BadIdToken, Jwk

T = TypeVar("T")

DISCOVERY = "/.well-known/openid-configuration"
_LARGEST_BYTES = 256 * 1024
_ANSWER_S = 10
_RENEWED_MS = 3_600_000
"""Keys and addresses are asked for again after so long."""
_OUTLIVED_MS = 24 * 3_600_000
"""While the provider doesn't answer, the keys that are known are good for so long."""
_PAUSE_MS = 10_000
"""The least time between two requests, whatever tokens are sent: clients can't make the server flood the
provider."""
_MOST_KEYS = 100
_ACCEPT = {"Accept": "application/json"}
_SILENT = "the provider that people sign in with doesn't answer"

log = structlog.get_logger("rota.server")


class Metadata(Struct, frozen=True):
    issuer: str
    jwks_uri: str
    token_endpoint: str
    device_authorization_endpoint: str = ""
    authorization_endpoint: str = ""


class _Tokens(Struct, frozen=True):
    id_token: str


class _Jwks(Struct, frozen=True):
    keys: list[dict[str, object]]


class Known(Struct, frozen=True):
    metadata: Metadata
    keys: tuple[Jwk, ...]
    asked_ms: int


class Provider:
    def __init__(self, issuer: str, now_ms: Callable[[], int]) -> None:
        self._issuer = issuer
        self._now_ms = now_ms
        self._known: Known | None = None
        self._tried_ms: int | None = None
        self._asking = asyncio.Lock()

    async def known(self) -> Known:
        """Raises Unavailable if the provider doesn't answer and nothing is known of it."""
        known = self._known
        if known is None or self._now_ms() - known.asked_ms > _RENEWED_MS:
            return await self._ask()
        return known

    async def anew(self, before: Known) -> Known:
        """For a token whose key isn't among those known before: the provider may have changed them."""
        known = self._known
        return known if known is not None and known is not before else await self._ask()

    async def _ask(self) -> Known:
        async with self._asking:
            now_ms, known = self._now_ms(), self._known
            if self._tried_ms is None or not 0 <= now_ms - self._tried_ms < _PAUSE_MS:
                self._tried_ms = now_ms
                try:
                    known = self._known = await self._asked(now_ms)
                except (ClientError, TimeoutError, OSError, ValueError) as error:
                    log.warning("sign_in.provider_unreachable", issuer=self._issuer, why=repr(error))
            if known is None or now_ms - known.asked_ms > _OUTLIVED_MS:
                raise Unavailable(_SILENT, "try again in a moment")
            return known

    async def exchanged(self, form: Mapping[str, str]) -> str:
        """The ID token for a code (RFC 6749, 4.1.3). Raises BadIdToken if the provider gives none."""
        endpoint = (await self.known()).metadata.token_endpoint
        try:
            async with (
                _session() as session,
                session.post(endpoint, data=dict(form), allow_redirects=False, headers=_ACCEPT) as answer,
            ):
                raw = await _whole(answer, endpoint)
                if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise ValueError(f"{endpoint} answers {answer.status}")
                if answer.status != HTTPStatus.OK:
                    raise BadIdToken("the provider didn't take its code back: sign in again")
                return _read(raw, _Tokens).id_token
        except (ClientError, TimeoutError, OSError, ValueError) as error:
            log.warning("sign_in.provider_unreachable", issuer=self._issuer, why=repr(error))
            raise Unavailable(_SILENT, "try again in a moment") from None

    async def _asked(self, now_ms: int) -> Known:
        async with _session() as session:
            raw = await _get(session, self._issuer.rstrip("/") + DISCOVERY)
            metadata = _read(raw, Metadata)
            if metadata.issuer != self._issuer:
                raise ValueError(f"it calls itself {metadata.issuer[:200]!r}")
            for url in (
                metadata.jwks_uri,
                metadata.token_endpoint,
                metadata.device_authorization_endpoint,
                metadata.authorization_endpoint,
            ):
                if url and not is_safe(url):
                    raise ValueError(f"{url[:200]!r} isn't https")
            found = _read(await _get(session, metadata.jwks_uri), _Jwks).keys
        return Known(metadata, tuple(filter(None, map(_key, found[:_MOST_KEYS]))), now_ms)


def is_safe(url: str) -> bool:
    """The connection is safe: https, or this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.username or parts.fragment or not host:
        return False
    if parts.scheme == "https":
        return True
    try:
        return parts.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def _session() -> ClientSession:
    return ClientSession(timeout=ClientTimeout(total=_ANSWER_S), cookie_jar=DummyCookieJar(), trust_env=True)


async def _get(session: ClientSession, url: str) -> bytes:
    async with session.get(url, allow_redirects=False, headers=_ACCEPT) as answer:
        if answer.status != HTTPStatus.OK:
            raise ValueError(f"{url} answers {answer.status}")
        return await _whole(answer, url)


async def _whole(answer: ClientResponse, url: str) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_BYTES:
            raise ValueError(f"{url} answers with more than {_LARGEST_BYTES:,} bytes")
    return bytes(body)


def _read(raw: bytes, wanted: type[T]) -> T:
    try:
        return json.decode(raw, type=wanted)
    except (MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _key(raw: dict[str, object]) -> Jwk | None:
    """None: a key of a kind that isn't known here hides no others."""
    try:
        return convert(raw, Jwk)
    except ValidationError:
        return None
