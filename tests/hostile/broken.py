"""Requests that are almost HTTP: heads that are cut, doubled and made up, on connections of their own."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from random import Random
from urllib.parse import urlsplit

from tests.hostile.odd import Odd
from tests.hostile.requests import Request

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_STRANGE = (
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
    b"Host: a\r\nHost: b\r\n",
    b"X: \xff\xfe\r\n",
    b" folded: line\r\n",
    b"X: " + b"y" * 70_000 + b"\r\n",
    b"Cookie: " + b"a=b; " * 3000 + b"\r\n",
    b"Range: bytes=0-,0-,0-\r\n",
)


def broken(random: Random, request: Request) -> bytes:
    odd = Odd(random)
    lines = [f"{request.method} {request.target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in request.headers if name != "host"]
    head = "\r\n".join(lines).encode() + b"\r\n"
    for _ in range(random.choice((0, 1, 1, 2))):
        head += random.choice(_STRANGE)
    whole = head + f"Content-Length: {len(request.body)}\r\n\r\n".encode() + request.body
    return odd.cut(whole) if random.random() < 0.8 else whole


def status_of(url: str, data: bytes, timeout_s: float) -> str:
    """As the server says it; "closed": it says nothing."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout_s) as line:
        # Who refuses something closes the connection while it is still being sent.
        with suppress(OSError):
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
        heard = b""
        with suppress(ConnectionError):
            while len(heard) < 1 << 16 and (piece := line.recv(1 << 16)):
                heard += piece
    found = _STATUS.match(heard)
    return found[1].decode() if found else "closed"
