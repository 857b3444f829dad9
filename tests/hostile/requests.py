"""Requests of a REST interface, made of its routes: by anybody, right, half right and wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from rota.server.http.route import Route
from rota.server.routes import ROUTES
from tests.hostile.jobs import jobs
from tests.hostile.odd import Odd

ENDLESS = frozenset(("follow_events",))
WITH_JOBS = frozenset(("/v1/jobs", "/v1/plan"))
_NAMES = {"job": "1", "name": "n1", "project": "vision", "secret": "api-key", "id": "abc", "path": "out.txt"}


class Request(Struct, frozen=True):
    method: str
    target: str
    body: bytes
    headers: tuple[tuple[str, str], ...]


def a_request(random: Random, secrets: Mapping[str, str]) -> Request:
    """`secrets`: of tokens, by whose they are."""
    odd = Odd(random)
    route = random.choice([one for one in ROUTES if one.operation_id not in ENDLESS])
    if random.random() < 0.4:
        route = random.choice([one for one in ROUTES if one.path in WITH_JOBS and one.method == "POST"])
    headers = [("content-type", random.choice(("application/json",) * 9 + ("text/plain",)))]
    if random.random() < 0.95:
        secret = odd.text() if random.random() < 0.05 else random.choice(list(secrets.values()))
        headers.append(("authorization", f"Bearer {secret}"))
    if random.random() < 0.1:
        headers.append(("idempotency-key", random.choice(("k1", "k2", odd.text()))))
    return Request(
        route.method,
        _path(route, odd) + _query(route, odd),
        _body(route, odd),
        tuple(filter(_sendable, headers)),
    )


def _sendable(header: tuple[str, str]) -> bool:
    """What isn't ASCII, or has line ends, HTTP clients refuse to send."""
    return header[1].isascii() and header[1].isprintable()


def _path(route: Route[Any, Any], odd: Odd) -> str:
    def step(match: re.Match[str]) -> str:
        name = match[1]
        usual = "0" * 64 if name == "sha256" else _NAMES.get(name, "x")
        if name == "job":
            usual = str(odd.random.randrange(1, 60)) + odd.random.choice(("", "", ".0"))
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


def _body(route: Route[Any, Any], odd: Odd) -> bytes:
    if route.body is type(None) and route.documented_body is None:
        return b"" if odd.random.random() < 0.9 else b"{}"
    if route.streams_body:
        return odd.random.randbytes(odd.random.choice((0, 1, 1000)))
    is_of_jobs = route.path in WITH_JOBS
    form: Any = jobs(odd.random) if is_of_jobs else _example(route, odd)
    # Of jobs most are as they should be: what is hard to decide about has to get past the readers.
    if odd.random.random() < (0.3 if is_of_jobs else 0.6):
        form = odd.made_odd(form)
    raw = _json(form)
    return odd.cut(raw) if odd.random.random() < 0.15 else raw


def _example(route: Route[Any, Any], odd: Odd) -> Any:
    examples: Sequence[Any] = list((route.examples or {}).values())
    return odd.random.choice(examples) if examples else {}


def _json(form: Any) -> bytes:
    try:
        return msgspec.json.encode(form)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, ValueError, TypeError):
        return repr(form).encode("utf-8", "replace")
