"""Streamed answers: bytes as they come, and server-sent events. Reading stops at once when the client has
gone; a client that takes nothing for too long is dropped.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED, Event
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import structlog
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from rota.server.http.reply import SAFE_HEADERS, raw_headers

EVENT_STREAM = "text/event-stream"
ABORT = "abort"
"""In the scope's state: closes the connection at once. Put there by `connections.py`."""

_log = structlog.get_logger("rota.server")


class StreamLimits(Struct):
    closing: Event
    """Set when the server stops: streams end then."""
    heartbeat_seconds: float = 15
    slow_seconds: float = 30
    """A client that takes nothing for so long is dropped."""


class StreamReply:
    """Sends what `chunks` gives, each at once. `chunks` waits while the client is slow."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        media_type: str,
        limits: StreamLimits,
        *,
        heartbeat: bytes = b"",
        still_allowed: Callable[[], Awaitable[bool]] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._chunks = chunks
        self._media_type = media_type
        self._limits = limits
        self._heartbeat = heartbeat
        self._still_allowed = still_allowed
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(disconnected(receive))
        closing = asyncio.ensure_future(self._limits.closing.wait())
        upcoming: asyncio.Future[bytes] | None = None
        try:
            upcoming = asyncio.ensure_future(anext(self._chunks))
            await self._send_start(send)
            while True:
                done, _ = await asyncio.wait(
                    (upcoming, gone, closing),
                    timeout=self._limits.heartbeat_seconds,
                    return_when=FIRST_COMPLETED,
                )
                if gone in done:
                    return
                if not await self._is_allowed():
                    if not self._heartbeat:
                        # It must not look complete. An event stream has no end that could be mistaken.
                        abort(scope)
                        return
                    break
                if upcoming in done:
                    try:
                        chunk = upcoming.result()
                    except StopAsyncIteration:
                        break
                    await self._send_chunk(send, chunk)
                    upcoming = asyncio.ensure_future(anext(self._chunks))
                elif closing in done:
                    break
                elif self._heartbeat:
                    await self._send_chunk(send, self._heartbeat)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Exception as error:
            # The answer has begun: all that is left to say is that it isn't complete.
            _log.warning("request.stream_interrupted", path=scope["path"], error=repr(error))
            abort(scope)
        finally:
            await _end(gone, closing, upcoming)
            await _close(self._chunks)

    async def _is_allowed(self) -> bool:
        return self._still_allowed is None or await self._still_allowed()

    async def _send_start(self, send: Send) -> None:
        headers = [
            (b"content-type", self._media_type.encode("ascii")),
            *raw_headers((*SAFE_HEADERS, *self._headers)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _send_chunk(self, send: Send, chunk: bytes) -> None:
        async with asyncio.timeout(self._limits.slow_seconds):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def begun(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same, once its first chunk is there: an error before it can still be answered as one."""
    try:
        first = await anext(chunks)
    except StopAsyncIteration:
        return _chained(None, chunks)
    return _chained(first, chunks)


async def _chained(first: bytes | None, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        if first is not None:
            yield first
            async for chunk in rest:
                yield chunk
    finally:
        await _close(rest)


def server_sent_event(seq: int, kind: str, data: bytes) -> bytes:
    """`data` is JSON on one line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, kind.encode(), data)


def abort(scope: Scope) -> None:
    """Closes the connection without waiting for a client that takes nothing."""
    abort = scope["state"].get(ABORT)
    if abort is not None:
        abort()


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*futures: asyncio.Future[Any] | None) -> None:
    for future in futures:
        if future is not None and not future.done():
            future.cancel()
    for future in futures:
        if future is not None:
            with suppress(asyncio.CancelledError, Exception):
                await future


async def _close(chunks: AsyncIterator[bytes]) -> None:
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
