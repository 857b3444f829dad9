"""Requests of a REST interface, made of its routes: by anybody, right, half right and wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from rota.server.browser.forgery import csrf_of
from rota.server.http.route import Route
from rota.server.routes import ROUTES
from rota.server.routes.pages import FORM, PAGE_ROUTES
from rota.server.routes.results import AGENT_ROUTES
from tests.hostile.guests import Guests, Header
from tests.hostile.jobs import jobs
from tests.hostile.odd import Odd

EVERY_ROUTE: tuple[Route[Any, Any], ...] = (*ROUTES, *AGENT_ROUTES, *PAGE_ROUTES)
"""tests/unit/server/test_fuzzer_is_complete.py: none is left out."""
WITH_JOBS = frozenset(("/v1/jobs", "/v1/plan"))
_ENDLESS = frozenset(("follow_events",))
_UPLOADED = b"the content of a file"
_NAMES = {
    "job": "1",
    "array": "1",
    "name": "n1",
    "project": "vision",
    "secret": "api-key",
    "id": "abc",
    "path": "out.txt",
    "sha256": sha256(_UPLOADED).hexdigest(),
}
_RESULT = {"ended_ms": 1, "reason": "exited", "exit_code": 0, "output_bytes": 0}


class Request(Struct, frozen=True):
    route: Route[Any, Any]
    target: str
    body: bytes
    headers: tuple[Header, ...]

    @property
    def method(self) -> str:
        return self.route.method

    @property
    def is_endless(self) -> bool:
        """Its answer goes on for as long as somebody listens."""
        return self.route.operation_id in _ENDLESS or (self.route.streams and "follow=" in self.target)


def a_request(random: Random, guests: Guests) -> Request:
    odd = Odd(random)
    route = random.choice(EVERY_ROUTE)
    if random.random() < 0.4:
        route = random.choice([one for one in ROUTES if one.path in WITH_JOBS and one.method == "POST"])
    is_form = route in PAGE_ROUTES and random.random() < 0.7
    media_type = FORM if is_form else random.choice(("application/json",) * 9 + ("text/plain",))
    return Request(
        route,
        _path(route, odd, guests) + _query(route, odd),
        _form(route, odd, guests) if is_form else _body(route, odd, guests),
        tuple(filter(_sendable, [("content-type", media_type), *_headers(route, odd, guests)])),
    )


def _headers(route: Route[Any, Any], odd: Odd, guests: Guests) -> Iterator[Header]:
    is_page = route in PAGE_ROUTES
    yield from guests.headers(odd, is_page=is_page, is_for_agents=route in AGENT_ROUTES)
    if is_page and odd.random.random() < 0.5:
        yield "accept", "text/html"
    rare = {
        "idempotency-key": ("k1", "k2", odd.text()),
        "if-match": ('"1"', odd.text()),
        "last-event-id": ("1", "99999999999999999999", odd.text()),
        "rota-executable": ("true", odd.text()),
        "accept": ("application/json", "*/*;q=x", odd.text()),
        "host": ("evil.example.org", "[::1", "127.0.0.1:99999", odd.text()),
        "x-forwarded-for": ("10.0.0.1", odd.text()),
        "sec-rota-host": ("evil.example.org", odd.text()),
    }
    for name, values in rare.items():
        if odd.random.random() < (0.1 if name == "idempotency-key" else 0.03):
            yield name, odd.random.choice(values)


def _sendable(header: tuple[str, str]) -> bool:
    """What isn't ASCII, or has line ends, HTTP clients refuse to send."""
    return header[1].isascii() and header[1].isprintable()


def _path(route: Route[Any, Any], odd: Odd, guests: Guests) -> str:
    names = dict(_NAMES)
    if route in AGENT_ROUTES:
        names["job"], names["rank"], names["fence"] = map(str, guests.task)
    elif odd.random.random() < 0.9:
        names["job"] = str(odd.random.randrange(1, 60)) + odd.random.choice(("", "", ".0"))

    def step(match: re.Match[str]) -> str:
        usual = names.get(match[1], "x")
        text = odd.text() if odd.random.random() < 0.2 else usual
        return quote(text.encode("utf-8", "surrogatepass"), safe="") or "x"

    return re.sub(r"{(\w+)}", step, route.path.replace(":path", ""))


def _query(route: Route[Any, Any], odd: Odd) -> str:
    known = [field.encode_name for field in msgspec.structs.fields(route.query)]
    given: list[tuple[str, str]] = []
    if "dry_run" in known and odd.random.random() < 0.6:
        given.append(("dry_run", odd.random.choice(("true", "true", "false", "maybe"))))
    for name in known:
        if odd.random.random() < 0.15:
            given.append((name, odd.random.choice(("1", "5", "0", "default", odd.text()))))
    if odd.random.random() < 0.05:
        given.append((odd.text(), odd.text()))
    text = urlencode([(_encodable(name), _encodable(value)) for name, value in given])
    return f"?{text}" if text else ""


def _encodable(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _body(route: Route[Any, Any], odd: Odd, guests: Guests) -> bytes:
    if route.body is type(None) and route.documented_body is None:
        return b"" if odd.random.random() < 0.9 else b"{}"
    if route.streams_body:
        noise = odd.random.randbytes(odd.random.choice((0, 1, 1000)))
        return odd.random.choice((_UPLOADED, noise))
    is_of_jobs = route.path in WITH_JOBS
    form: Any = jobs(odd.random) if is_of_jobs else _example(route, odd, guests)
    # Of jobs most are as they should be: what is hard to decide about has to get past the readers.
    if odd.random.random() < (0.3 if is_of_jobs else 0.6):
        form = odd.made_odd(form)
    raw = _json(form)
    return odd.cut(raw) if odd.random.random() < 0.15 else raw


def _example(route: Route[Any, Any], odd: Odd, guests: Guests) -> Any:
    if route in PAGE_ROUTES:
        return _fields(odd, guests)
    if route in AGENT_ROUTES:
        return _RESULT
    examples: Sequence[Any] = list((route.examples or {}).values())
    return odd.random.choice(examples) if examples else {}


def _fields(odd: Odd, guests: Guests) -> dict[str, str]:
    """Of a form of the pages."""
    secrets = [*guests.tokens.values(), *guests.sessions.values(), guests.agent]
    keys = [guests.flow, *guests.sessions.values()]
    return {
        "token": odd.random.choice(secrets),
        "csrf": csrf_of(odd.random.choice(keys)),
        "return": odd.random.choice(("/", "/v1/me", "//evil", odd.text())),
    }


def _form(route: Route[Any, Any], odd: Odd, guests: Guests) -> bytes:
    """As a browser sends it."""
    given = [(name, value) for name, value in _fields(odd, guests).items() if odd.random.random() < 0.9]
    if "sign-out" in route.path:
        given = [(name, value) for name, value in given if name == "csrf"]
    if odd.random.random() < 0.2:
        given.append((odd.text(), odd.text()))
    raw = urlencode([(_encodable(name), _encodable(value)) for name, value in given]).encode()
    return odd.cut(raw) if odd.random.random() < 0.15 else raw


def _json(form: Any) -> bytes:
    try:
        return msgspec.json.encode(form)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, ValueError, TypeError):
        return repr(form).encode("utf-8", "replace")
