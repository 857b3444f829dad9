"""Answers that no server should give, to the client and to the commands that use it.

A client has its errors for that, and a command an exit code; whatever else they raise is a fault.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import msgspec

from rota.sdk.client import Client
from rota.sdk.errors import RotaError
from rota.sdk.patience import Retries
from tests.hostile.odd import Odd
from tests.unit.cli.calling import rota

RECORDED = Path(__file__).parents[1] / "data" / "answers"
_BUG = "this is a bug in Rota"
_AT_ONCE = Retries(attempts=1)
_DEFAULTS: dict[str, Any] = Client.__init__.__kwdefaults__ or {}
"""Commands are patient by default."""
_STATUSES = (200,) * 6 + (201, 204, 206, 301, 304, 401, 403, 404, 409, 422, 429, 500, 503, 999)
_HEADERS = (
    b"Retry-After: 0",
    b"Retry-After: 99999999999999999999",
    b"Connection: close",
    b"Content-Type: text/html",
    b"Location: http://127.0.0.1:1/",
    b"X: \xff",
    b"Content-Encoding: gzip",
)
Ask = Callable[[Client, Odd], object]


class Liar:
    """A server that says what it is told to, to whoever connects."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self.answer = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # Closing alone doesn't wake whoever waits in accept.
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._door.accept()
                # A client may ask for something else while it listens.
                threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            line.settimeout(10)
            line.recv(1 << 16)
            line.sendall(self.answer)
            line.shutdown(socket.SHUT_WR)
            # Else what was sent is lost where more of the request is still unread.
            while line.recv(1 << 16):
                pass


def an_answer(odd: Odd) -> bytes:
    status = odd.random.choice(_STATUSES)
    body = _body(odd)
    head = [f"HTTP/1.1 {status} so".encode()]
    head += [one for one in _HEADERS if odd.random.random() < 0.1]
    match odd.random.randrange(4):
        case 0:
            head.append(b"Transfer-Encoding: chunked")
            middle = odd.random.randrange(len(body) + 1)
            body = b"".join(
                b"%x\r\n%b\r\n" % (len(one), one) for one in (body[:middle], body[middle:]) if one
            )
            body += b"0\r\n\r\n"
        case 1:
            pass  # It ends with the connection.
        case _:
            head.append(b"Content-Length: %d" % len(body))
    whole = b"\r\n".join((*head, b"", b"")) + body
    if odd.random.random() < 0.1:
        whole = b"HTTP/1.1 100 Continue\r\n\r\n" + whole
    return odd.cut(whole) if odd.random.random() < 0.3 else whole


def _body(odd: Odd) -> bytes:
    file = odd.random.choice(sorted(RECORDED.glob("*/*")))
    raw = file.read_bytes()
    if file.suffix == ".json" and odd.random.random() < 0.8:
        with suppress(UnicodeEncodeError, msgspec.MsgspecError, OverflowError, ValueError, TypeError):
            raw = msgspec.json.encode(odd.made_odd(msgspec.json.decode(raw)))
    if odd.random.random() < 0.15:
        raw = b"data: " + raw.replace(b"\n", b" ") + b"\n\n"
    return odd.cut(raw) if odd.random.random() < 0.2 else raw


_MANY = 50
_ASKED: dict[str, Ask] = {
    "me": lambda client, odd: client.me(),
    "job": lambda client, odd: client.job(odd.text() or "1"),
    "jobs": lambda client, odd: list(islice(client.jobs(), _MANY)),
    "submit": lambda client, odd: client.submit({"command": ["true"]}),
    "plan": lambda client, odd: client.plan({"command": ["true"]}),
    "why": lambda client, odd: client.why("1"),
    "logs": lambda client, odd: list(islice(client.logs("1"), _MANY)),
    "followed logs": lambda client, odd: list(islice(client.logs("1", follow=True), _MANY)),
    "events": lambda client, odd: list(islice(client.events(), _MANY)),
    "followed events": lambda client, odd: list(islice(client.events(follow=True), _MANY)),
    "outputs": lambda client, odd: client.outputs("1"),
    "output": lambda client, odd: client.output("1", odd.text() or "x"),
    "input": lambda client, odd: client.send_input("1", b"x", offset=0),
    "nodes": lambda client, odd: list(islice(client.nodes(), _MANY)),
    "limits": lambda client, odd: client.limits(),
    "tokens": lambda client, odd: list(islice(client.tokens(), _MANY)),
    "audit": lambda client, odd: list(islice(client.audit(), _MANY)),
    "wait": lambda client, odd: client.wait("1", timeout_s=5),
}


def ask(liar: Liar, random: Random) -> str:
    """What was asked for."""
    odd = Odd(random)
    liar.answer = an_answer(odd)
    name = random.choice(list(_ASKED))
    with (
        Client(liar.url, "rota_" + "a" * 43, retries=_AT_ONCE, stream_retries=_AT_ONCE) as client,
        suppress(RotaError),
    ):
        _ASKED[name](client, odd)
    return name


_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ls",),
    ("ls", "-o", "json"),
    ("show", "1"),
    ("logs", "1"),
    ("fetch", "1", "--to", "{folder}"),
    ("fetch", "1", "--list"),
    ("why", "1"),
    ("eta", "1"),
    ("eff", "1"),
    ("limits",),
    ("quota",),
    ("usage",),
    ("nodes",),
    ("queues",),
    ("project",),
    ("secret", "--project", "vision"),
    ("token",),
    ("events",),
    ("audit",),
    ("cancel", "1"),
    ("hold", "1"),
    ("release", "1"),
    ("extend", "1", "+5m"),
    ("submit", "--", "true"),
    ("reserve",),
    ("maintenance",),
)


def command(url: str, token: str, random: Random, folder: Path) -> str:
    """Exit code of a command that asks there, with a word of it made odd now and then."""
    odd = Odd(random)
    with TemporaryDirectory(dir=folder) as own:
        words = [word.format(folder=f"{own}/out") for word in random.choice(_COMMANDS)]
        if random.random() < 0.3:
            at = random.randrange(1, len(words) + 1)
            # No process can be given a NUL.
            words[at:at] = [odd.text().replace("\0", "").encode("utf-8", "replace").decode()]
        before = set(os.listdir(folder))
        environment = {"ROTA_URL": url, "ROTA_TOKEN": token, "XDG_CONFIG_HOME": own, "XDG_DATA_HOME": own}
        with mock.patch.dict(_DEFAULTS, retries=_AT_ONCE, stream_retries=_AT_ONCE):
            result = rota(*words, environment=environment)
        assert set(os.listdir(folder)) == before, f"{words} wrote outside of its folder"
    assert _BUG not in result.err, f"{words}: {result.err}"
    # What a job wrote is handed on as it is.
    assert words[0] == "logs" or "\x1b" not in result.out + result.err, f"{words}: an escape came through"
    return str(result.code)
