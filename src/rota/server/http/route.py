"""What a route is, as data: the application, who may use it and the OpenAPI document are made from this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from typing import Annotated, Any, Concatenate, Generic, TypeVar

from litestar.types import ASGIApp
from msgspec import Meta, Struct

from rota.api.people import Role
from rota.control.access import Who
from rota.loop.desk.answers import AnswerOf
from rota.loop.telemetry.metrics import Metrics
from rota.server.agents import AgentCalls
from rota.server.browser.sessions import Pages
from rota.server.http.desks import Readiness
from rota.server.http.idempotency import KeyedRequest
from rota.server.http.places import Place
from rota.server.http.reply import JSON, Reply
from rota.server.http.streams import StreamLimits
from rota.server.identity.access import Access, Line
from rota.server.sign_in.desk import SignIn

Q = TypeVar("Q")
B = TypeVar("B")
R = TypeVar("R")


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all: a parameter that a route doesn't have was meant to do something, and is refused."""


class ChangeQuery(Query, frozen=True, kw_only=True):
    dry_run: Annotated[bool, Meta(description="Check the request and answer, but change nothing.")] = False


class PageQuery(Query, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many to answer with, at most.")] = 100
    after: Annotated[str, Meta(max_length=200, description="The `next` of the page before.")] | None = None


class Form(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all bodies: a misspelt field is refused."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the server knows of itself."""

    access: Access
    metrics: Metrics
    openapi: bytes
    readiness: Readiness
    agents: AgentCalls | None = None
    """None: it takes none."""
    sign_in: SignIn | None = None
    """None: there is no sign-in, and tokens are made by hand."""
    pages: Pages | None = None
    """None: there are none, and no cookie counts."""


@dataclass(slots=True)
class Call(Generic[Q, B]):
    """One request, read and allowed: what a route's function works with."""

    who: Who
    query: Q
    body: B
    names: Mapping[str, str]
    """The parts of the path that vary, as they came."""
    headers: Mapping[str, str]
    now_ms: int
    streams: StreamLimits
    still_allowed: Callable[[tuple[str, ...] | None], Awaitable[bool]]
    """In these projects, or in all of them. Asked again and again by streams: tokens expire and are removed,
    memberships end."""
    line: Line
    """The token that was shown, and those that it descends from; empty where none is needed."""
    service: Service
    place: Place | None = None
    """Of its connection; None: it has none, as in tests."""
    keyed: KeyedRequest | None = None

    @property
    def if_match(self) -> str | None:
        """The version that the client has seen of what it changes; None: it doesn't say."""
        stated = self.headers.get("if-match")
        return None if stated is None else stated.strip().strip('"')

    def answer_of(self, reply: Callable[[R], Reply]) -> AnswerOf[R]:
        """What a desk is to keep for the request's idempotency key, if it has one."""
        keyed = self.keyed
        return None if keyed is None else lambda result: keyed.answer(reply(result), self.now_ms)


@dataclass(frozen=True, kw_only=True)
class Route(Generic[Q, B]):
    method: str
    path: str
    """As in OpenAPI. `{name}` at the end of a path may contain slashes where `deep` says so."""
    call: Callable[Concatenate[Call[Q, B], ...], Awaitable[ASGIApp]]
    """Its name is the operation's id, its docstring the description. Further parameters are desks."""
    summary: str
    tag: str
    role: Role | None
    """The least that is needed; None: no token at all."""
    query: type[Q]
    body: type[B]
    """`None`: there is none; `bytes`: as it comes; else a Struct, from JSON."""
    answers: Mapping[int, Any]
    """Types by status; a text is a media type of bytes."""
    documented_body: Any = None
    """Where `body` is bytes: its type, or the media type of any bytes."""
    reads: tuple[str, ...] = (JSON,)
    """Media types of the body."""
    streams_body: bool = False
    """`body` is an iterator over the bytes, with its own limit."""
    streams: bool = False
    """The answer is streamed: the number of such answers is limited."""
    deep: bool = False
    takes_version: bool = False
    """By the header If-Match: `Call.if_match`."""
    asks: bool = False
    """Not a change by a user: a question with a body, or a report of an agent."""
    examples: Mapping[str, Any] = field(default_factory=dict)
    """Of bodies, by name."""

    @cached_property
    def desks(self) -> tuple[type, ...]:
        """Classes of the desks that it needs. Where one of them isn't there, it isn't served."""
        _, *desks = signature(self.call, eval_str=True).parameters.values()
        return tuple(desk.annotation for desk in desks)

    @property
    def operation_id(self) -> str:
        return self.call.__name__

    @property
    def changes(self) -> bool:
        """Each such call is recorded in the audit log."""
        return self.method != "GET" and not self.asks

    @property
    def takes_key(self) -> bool:
        return self.method == "POST"
