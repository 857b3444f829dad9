"""HTTP/1.1 over connections that stay open: what a client of Rota needs of it, and no more.

Most commands are over in less time than a library for all of HTTP takes to be imported.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from ssl import SSLContext

POOL_SIZE = 8
"""Connections that are kept for later."""
LONGEST_HEAD_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16
_PORTS = {"http": 80, "https": 443}
_INTERIM = 100
_FINAL = 200


class Lost(Exception):
    """No answer, or not all of it. `error`: that of the system, if it is one."""

    def __init__(self, reason: str, error: OSError | None = None) -> None:
        super().__init__(reason)
        self.error = error


class Silent(Lost):
    """Nothing came for too long."""


class Distrusted(Lost):
    """TLS doesn't come about: most often the certificate isn't trusted."""


class Http:
    """To one server. Threads may share it: each request has a connection of its own until it is answered."""

    def __init__(self, url: str, tls: SSLContext | None, connect_s: float) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._host_header = parts.netloc
        self._path = parts.path
        self._tls = tls
        self._connect_s = connect_s
        self._idle: list[socket.socket] = []

    def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, silence_s: float
    ) -> Answer:
        """Its head has come; its body is still to be read. Whoever asks has to close it."""
        head = self._head(method, target, headers, body)
        line = self._line()
        answer = Answer(line, self._idle)
        try:
            line.settimeout(silence_s)
            line.sendall(head + (body or b""))
            answer.read_head()
        except BaseException as error:
            answer.close()
            if isinstance(error, OSError):
                raise _lost(error) from None
            raise
        return answer

    def close(self) -> None:
        """Those connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _head(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        lines = [
            f"{method} {self._path}{target} HTTP/1.1",
            f"Host: {self._host_header}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        if body is not None or method != "GET":
            lines.append(f"Content-Length: {len(body or b'')}")
        for line in lines:
            if not line.isprintable():
                raise ValueError(f"{line!r} can't be sent: a character in it isn't printable")
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def _line(self) -> socket.socket:
        while self._idle:
            try:
                line = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not _has_news(line):
                return line
            # Nothing was asked, so what came is its end.
            line.close()
        return self._connected()

    def _connected(self) -> socket.socket:
        try:
            # As bytes: a name in ASCII, as nearly all are, needs no table of how others are written.
            host = self._host.encode() if self._host.isascii() else self._host
            line = socket.create_connection((host, self._port), self._connect_s)  # type: ignore[arg-type]
        except OSError as error:
            # Also after a timeout: who hasn't been reached isn't silent.
            raise Lost(str(error), error) from None
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line if self._tls is None else self._tls.wrap_socket(line, server_hostname=self._host)
        except OSError as error:
            line.close()
            raise _lost(error) from None


class Answer:
    def __init__(self, line: socket.socket, idle: list[socket.socket]) -> None:
        """`idle`: where the connection goes, once all of the answer is read."""
        self._line: socket.socket | None = line
        self._idle = idle
        self._message = _Message()

    @property
    def status(self) -> int:
        return self._message.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        return self._message.headers

    def read_head(self) -> None:
        taken = 0
        while not self._message.has_head:
            if taken > LONGEST_HEAD_BYTES:
                raise Lost("the head of the answer has no end")
            taken += self._receive()

    def stream(self) -> Iterator[bytes]:
        """The body, as it comes."""
        while True:
            pieces, self._message.pieces = self._message.pieces, []
            yield from pieces
            if self._message.is_complete:
                break
            try:
                self._receive()
            except OSError as error:
                raise _lost(error) from None
        self._give_back()

    def read(self) -> bytes:
        return b"".join(self.stream())

    def close(self) -> None:
        """An answer that was read to its end has returned its connection; any other is of no use any more."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _receive(self) -> int:
        """How many bytes."""
        if self._line is None:
            raise Lost("the answer was closed")
        data = self._line.recv(_PIECE_BYTES)
        if not data:
            self._message.break_off()
            return 0
        try:
            self._message.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise Lost(f"the answer isn't HTTP: {error}") from None
        return len(data)

    def _give_back(self) -> None:
        if self._line is None:
            return
        if self._message.may_stay and len(self._idle) < POOL_SIZE:
            self._idle.append(self._line)
            self._line = None
        else:
            self.close()


class _Message:
    """What the parser finds, by the names that it calls."""

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []
        self.has_head = False
        self.is_complete = False
        self.may_stay = False

    def break_off(self) -> None:
        """The connection has ended: so does a body of which nobody has said how long it is."""
        is_counted = "content-length" in self.headers or "transfer-encoding" in self.headers
        if not self.has_head or is_counted:
            raise Lost("the server closed the connection")
        self.is_complete = True

    def on_message_begin(self) -> None:
        if self.is_complete:
            raise ValueError("a second answer, to a question that nobody asked")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.has_head = not _INTERIM <= self.status < _FINAL

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)

    def on_message_complete(self) -> None:
        if not self.has_head:
            # The real one follows.
            self.headers.clear()
            return
        self.is_complete = True
        self.may_stay = self.parser.should_keep_alive()


def _has_news(line: socket.socket) -> bool:
    # Not select(): that can't look at a file of a high number.
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(0))


def _lost(error: OSError) -> Lost:
    # Only here: who speaks plain HTTP with a server on the same machine needs none of it.
    from ssl import SSLError

    kind = Silent if isinstance(error, TimeoutError) else Distrusted if isinstance(error, SSLError) else Lost
    return kind(str(error), error)
