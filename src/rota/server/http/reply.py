"""An answer as bytes, ready to be sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from litestar.types import Receive, Scope, Send

JSON = "application/json"
SAFE_HEADERS = (("x-content-type-options", "nosniff"), ("cache-control", "no-store"))
_encode = msgspec.json.Encoder().encode


class Reply:
    """An ASGI application that sends just this."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        media_type: str = JSON,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.status = status
        self.body = body
        self.media_type = media_type
        self.headers = tuple(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", self.media_type.encode("ascii")),
            (b"content-length", b"%d" % len(self.body)),
            *_RAW_SAFE_HEADERS,
            *raw_headers(self.headers),
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def json_reply(document: Any, status: int = 200) -> Reply:
    return Reply(status, _encode(document))


def raw_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


_RAW_SAFE_HEADERS = raw_headers(SAFE_HEADERS)
