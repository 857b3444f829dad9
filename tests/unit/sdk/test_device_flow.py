"""The device flow against a provider that answers as it is told, over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from msgspec import json
from msgspec.structs import replace

from rota.api.sign_in import SignInDocument
from rota.sdk.device_flow import Prompt, id_token_by_device_flow
from rota.sdk.errors import BadAnswer, Forbidden, RotaError, Unreachable

BEGUN = {
    "device_code": "d1",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://id.example.org/device",
    "expires_in": 100,
    "interval": 5,
}
PENDING, SLOWER = {"error": "authorization_pending"}, {"error": "slow_down"}


class Scripted:
    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.pauses: list[float] = []
        self.shown: list[Prompt] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                scripted.asked.append((self.path, parse_qs(form)))
                status, body = scripted.answers.pop(0)
                sent = body if isinstance(body, bytes) else json.encode(body)
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        url = f"http://127.0.0.1:{self.server.server_port}"
        self.terms = SignInDocument(
            issuer=url,
            client_id="rota-cli",
            scopes=["openid", "groups"],
            device_authorization_endpoint=f"{url}/device",
            token_endpoint=f"{url}/token",
        )

    def id_token(self, *answers: tuple[int, Any]) -> str:
        self.answers = [(200, BEGUN), *answers]
        return id_token_by_device_flow(
            self.terms, self.shown.append, self.pauses.append, lambda: sum(self.pauses)
        )


@pytest.fixture
def provider() -> Iterator[Scripted]:
    scripted = Scripted()
    thread = threading.Thread(target=scripted.server.serve_forever, args=(0.01,))
    thread.start()
    yield scripted
    scripted.server.shutdown()
    thread.join()
    scripted.server.server_close()


def test_somebody_confirms(provider: Scripted) -> None:
    assert provider.id_token((400, PENDING), (400, SLOWER), (400, PENDING), (200, {"id_token": "a.b.c"}))
    assert provider.pauses == [5, 5, 10, 10]
    [prompt] = provider.shown
    assert (prompt.code, prompt.url) == ("WDJB-MJHT", "https://id.example.org/device")
    (_, first), (path, poll) = provider.asked[:2]
    assert first == {"client_id": ["rota-cli"], "scope": ["openid groups"]}
    assert (path, poll["device_code"]) == ("/token", ["d1"])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, {"error": "access_denied"}), Forbidden),
        ((400, {"error": "expired_token"}), Forbidden),
        ((400, {"error": "invalid_client\x1b[2J"}), BadAnswer),
        ((200, {"access_token": "only"}), BadAnswer),
        ((200, b"<html>"), BadAnswer),
        ((200, b'{"id_token": "\xff"}'), BadAnswer),
        ((200, b'{"x": ' + b"[" * 5_000), BadAnswer),
        ((302, b""), BadAnswer),
        ((503, b""), Unreachable),
        ((200, b"x" * 300_000), Unreachable),
    ],
)
def test_a_refusal_of_the_provider_ends_the_sign_in(
    provider: Scripted, answer: tuple[int, Any], error: type[RotaError]
) -> None:
    with pytest.raises(error) as raised:
        provider.id_token(answer)
    assert str(raised.value).isprintable()


def test_nobody_waits_for_ever(provider: Scripted) -> None:
    with pytest.raises(Forbidden, match="in time"):
        provider.id_token(*[(400, PENDING)] * 50)
    assert sum(provider.pauses) <= 100


def test_a_code_goes_nowhere_unencrypted(provider: Scripted) -> None:
    for url in ("http://id.example.org/device", "ftp://127.0.0.1/", "", "https://", "http://[::1"):
        bad = replace(provider.terms, device_authorization_endpoint=url)
        with pytest.raises(BadAnswer, match="not an https"):
            id_token_by_device_flow(bad, provider.shown.append)
    assert not provider.asked
