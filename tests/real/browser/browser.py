"""A browser without a screen: cookies, and what people do with it to sign in."""

from __future__ import annotations

import re
import ssl
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tests.real.server.oidc_provider import CLIENT_ID, Provider
from tests.real.server.rota_server import RotaServer

SETTINGS = """
[oidc]
issuer = "{issuer}"
client_id = "{client_id}"
roles = ["ops=operator", "staff=submitter"]
projects = ["ml=vision:submitter"]
session = "1h"

[server.pages]
{pages}
"""
PAGE = {"accept": "text/html"}
FORM = "application/x-www-form-urlencoded"


def server_of(provider: Provider, folder: Path, *flags: str, pages: str = "") -> RotaServer:
    server = RotaServer(folder, *flags)
    file = folder / "config" / "rota" / "rota.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS.format(issuer=provider.issuer, client_id=CLIENT_ID, pages=pages))
    server.start()
    return server


class Browser:
    """With cookies of its own. It follows nothing by itself, so that each step can be looked at."""

    def __init__(self, server: RotaServer) -> None:
        self.server = server
        self.origin = server.url
        trusted = ssl.create_default_context(cafile=server.ca)
        self._client = httpx.Client(verify=trusted, headers=PAGE, timeout=60)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def cookies(self) -> dict[str, str]:
        return dict(self._client.cookies)

    def keep_for_ever(self) -> None:
        """Cookies whose time has passed are still sent."""
        kept = self.cookies
        self.clear()
        self.put_in(kept)

    def clear(self) -> None:
        self._client.cookies.clear()

    def put_in(self, cookies: dict[str, str]) -> None:
        for name, value in cookies.items():
            self._client.cookies.set(name, value)

    def get(self, target: str, **headers: str) -> httpx.Response:
        url = target if target.startswith("http") else self.server.url + target
        return self._client.get(url, headers={name.replace("_", "-"): one for name, one in headers.items()})

    def post(
        self, target: str, *, csrf: str | None = None, origin: str | None = "", **more: Any
    ) -> httpx.Response:
        """`origin`: this server's, unless it is said."""
        headers = dict(more.pop("headers", {}))
        if origin is not None:
            headers["origin"] = origin or self.origin
        if csrf is not None:
            headers["x-csrf-token"] = csrf
        return self._client.post(self.server.url + target, headers=headers, **more)

    # -- what people do

    def to_provider(self, return_to: str = "") -> str:
        """The address that it is sent to."""
        query = f"?return={quote(return_to)}" if return_to else ""
        answer = self.get(f"/sign-in/provider{query}")
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def approved(self, where: str, user: str, groups: str = "staff") -> str:
        """The address that the provider sends it back to."""
        answer = self.get(f"{where}&user={user}&groups={quote(groups)}")
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def sign_in(self, user: str, groups: str = "staff", return_to: str = "") -> httpx.Response:
        return self.get(self.approved(self.to_provider(return_to), user, groups))

    def me(self) -> Any:
        answer = self.get("/v1/me")
        return answer.json() if answer.status_code == 200 else answer.status_code


def field(page: str, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    assert found is not None, page
    return unescape(found[1])


def refused(answer: httpx.Response, status: int, words: str) -> None:
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert words in unescape(answer.text)
    assert "rota-session" not in answer.headers.get("set-cookie", "")
