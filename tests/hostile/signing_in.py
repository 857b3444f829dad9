"""Sign-ins that a provider, a browser or somebody between them has tampered with."""

from __future__ import annotations

import time
from random import Random
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import httpx
from msgspec import json

from tests.hostile.odd import Odd
from tests.real.server.oidc_provider import Provider

_GROUPS = ("staff", "ops", "ml staff", "unheard-of", "")


def sign_in(random: Random, provider: Provider, url: str) -> int:
    """The status of the server's answer to what came of it."""
    odd = Odd(random)
    return _by_browser(odd, provider, url) if random.random() < 0.5 else _by_token(odd, provider, url)


def _by_token(odd: Odd, provider: Provider, url: str) -> int:
    claims = provider.claims("ada", "staff", nonce=odd.text(), iat=int(time.time()))
    if odd.random.random() < 0.8:
        claims = _made_odd(odd, claims)
    header = {"kid": odd.scalar()} if odd.random.random() < 0.1 else {}
    token = provider.sign(_sendable(claims), **_sendable(header))
    if odd.random.random() < 0.3:
        token = odd.cut(token.encode()).decode("utf-8", "replace")
    body = json.encode({"id_token": token})
    sent = {"content-type": "application/json"}
    return httpx.post(f"{url}/v1/auth/sign-in", content=body, headers=sent, timeout=60).status_code


def _by_browser(odd: Odd, provider: Provider, url: str) -> int:
    with httpx.Client(timeout=60, headers={"accept": "text/html"}) as browser:
        asked = browser.get(f"{url}/sign-in/provider?return={quote(odd.random.choice(('/', '/v1/me')))}")
        if asked.status_code != 303:
            return asked.status_code
        groups = quote(odd.random.choice(_GROUPS))
        back = browser.get(f"{asked.headers['location']}&user=ada&groups={groups}").headers["location"]
        if odd.random.random() < 0.6:
            provider.claim_next(**_sendable(_made_odd(odd, {"preferred_username": "ada", "groups": ["ops"]})))
        if odd.random.random() < 0.5:
            back = _changed(odd, back)
        if odd.random.random() < 0.2:
            flow = odd.cut(browser.cookies["rota-sign-in"].encode()).decode("ascii", "ignore").strip()
            browser.cookies.clear()
            if flow.isprintable():
                browser.cookies.set("rota-sign-in", flow)
        return browser.get(back).status_code


def _changed(odd: Odd, address: str) -> str:
    parts = urlsplit(address)
    query = [
        (name, odd.text() if odd.random.random() < 0.4 else value) for name, value in parse_qsl(parts.query)
    ]
    return f"{parts.scheme}://{parts.netloc}{parts.path}?" + urlencode(
        [(name, value.encode("utf-8", "replace")) for name, value in query]
    )


def _made_odd(odd: Odd, claims: dict[str, Any]) -> dict[str, Any]:
    changed = odd.made_odd(claims)
    return changed if isinstance(changed, dict) else {"sub": changed}


def _sendable(value: Any) -> Any:
    """Without what no JSON can hold."""
    if isinstance(value, dict):
        return {_sendable(name): _sendable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_sendable(one) for one in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value
