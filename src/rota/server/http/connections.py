"""Connections, guarded before there is a request: how many, how long and how large headers may be.

uvicorn limits neither, and answers in plain text; a client that connects and sends nothing would hold a
connection for ever. `places.py` decides who is disconnected when all connections are in use.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rota.server.http.limits import DEFAULT_LIMITS, Limits
from rota.server.http.places import PLACE, Place, Places, too_many_connections
from rota.server.http.problems import ProblemError, problem_reply
from rota.server.http.reply import raw_headers
from rota.server.http.streams import ABORT


class GuardedProtocol(HttpToolsProtocol):
    limits = DEFAULT_LIMITS
    places = Places(DEFAULT_LIMITS)
    """Set by `guarded`, both."""

    _place: Place | None = None
    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_headers = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._place = self.places.enter(self.client[0] if self.client else "", self._give_way)
        if self._place is None:
            self._refuse(too_many_connections(self.limits.connections))
            return
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._place is not None:
            self._place.leave()
        super().connection_lost(exc)

    def _give_way(self) -> None:
        """The place is needed for a client that has proved more, or came later."""
        if self._timer is not None:
            self._refuse(too_many_connections(self.limits.connections))
        elif self.cycle is None or self.cycle.response_complete:
            self._stop_timer()
            self.transport.close()
        else:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self._in_headers:
            return
        # Counted in whole pieces: what came along with the end of a request before is counted too.
        self._header_bytes += len(data)
        if self._header_bytes > self.limits.header_bytes and not self.transport.is_closing():
            self._refuse(
                ProblemError(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "headers-too-large",
                    f"the headers have more than {self.limits.header_bytes:,} bytes",
                    help="send fewer or shorter ones",
                )
            )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort
        self.scope["state"][PLACE] = self._place
        self._in_headers = True
        self._header_bytes = 0
        if self._timer is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_headers = False
        if self._place is not None:
            self._place.busy()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        if self._place is not None and not self.pipeline:
            self._place.idle()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """What can't be parsed as HTTP at all."""
        self._refuse(
            ProblemError(HTTPStatus.BAD_REQUEST, "bad-request", "this is not HTTP", help="speak HTTP/1.1")
        )

    def _await_headers(self) -> None:
        self._timer = self.loop.call_later(self.limits.header_seconds, self._headers_late)

    def _headers_late(self) -> None:
        self._timer = None
        self._refuse(
            ProblemError(
                HTTPStatus.REQUEST_TIMEOUT,
                "timeout",
                f"the headers didn't arrive within {self.limits.header_seconds:g} s",
                help="connect when there is something to ask",
            )
        )

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, error: ProblemError) -> None:
        """Answered and closed, below any application."""
        self._stop_timer()
        reply = problem_reply(error, "")
        status = HTTPStatus(reply.status)
        headers = [
            (b"content-type", reply.media_type.encode()),
            (b"content-length", b"%d" % len(reply.body)),
            (b"connection", b"close"),
            *((name, value) for name, value in raw_headers(reply.headers) if name != b"connection"),
        ]
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode())]
        lines += [b"%s: %s" % header for header in headers]
        self.transport.write(b"\r\n".join((*lines, b"", reply.body)))
        self.transport.close()


def guarded(limits: Limits) -> type[GuardedProtocol]:
    """uvicorn makes the protocol itself: limits go with the class."""
    return type("GuardedProtocol", (GuardedProtocol,), {"limits": limits, "places": Places(limits)})
