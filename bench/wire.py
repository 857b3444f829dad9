"""HTTP/1.1 over one connection that stays open, and no more than a benchmark needs of it: what is measured is
the server."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Any, Self

from msgspec import json

_ACCEPTED = (200, 201)


class Wire:
    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        )
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def get(self, path: str) -> Any:
        return json.decode(self.call("GET", path))

    def post(self, path: str, document: object) -> Any:
        return json.decode(self.call("POST", path, json.encode(document)))

    def call(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of the answer; anything but success ends the benchmark."""
        status, answer = self.ask(method, path, body)
        if status not in _ACCEPTED:
            raise SystemExit(f"{method} {path}: {status} {answer.decode(errors='replace')}")
        return answer

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            self._receive()
        lines = self._unread[:end].lower().split(b"\r\n")
        [length] = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        parts = [self._unread[end + 4 :]]
        missing = length - len(parts[0])
        while missing > 0:
            parts.append(self._received())
            missing -= len(parts[-1])
        whole = b"".join(parts)
        self._unread = whole[length:]
        return int(lines[0].split()[1]), whole[:length]

    def _receive(self) -> None:
        self._unread += self._received()

    def _received(self) -> bytes:
        data = self._socket.recv(1 << 18)
        if not data:
            raise SystemExit("the server closed the connection")
        return data
