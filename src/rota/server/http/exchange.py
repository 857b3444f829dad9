"""From a request to its answer: its user, its content, and the work of the route."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request
from litestar.types import ASGIApp, Receive, Scope, Send

from rota.api.people import Role
from rota.control.access import Who
from rota.control.errors import Unavailable
from rota.control.origin import Origin, current
from rota.server.http import idempotency
from rota.server.http.desks import Desks
from rota.server.http.idempotency import InFlight, KeyedRequest
from rota.server.http.limits import Limits, RateLimit, body_chunks, whole_body
from rota.server.http.places import PLACE, Place, Rank, StreamPlaces
from rota.server.http.problems import ProblemError, printable
from rota.server.http.reading import read_body, read_query
from rota.server.http.reply import JSON
from rota.server.http.route import Call, Route, Service
from rota.server.http.streams import StreamLimits
from rota.server.identity.access import Line, Permit, at_least, check_role, who_is

NOBODY = Who("", Role.VIEWER, ())
"""Who asks where no token is needed."""
_NO_TOKEN: Line = ()


class Exchange:
    def __init__(
        self, desks: Desks, service: Service, limits: Limits, now_ms: Callable[[], int], closing: Event
    ) -> None:
        self._service = service
        self._access = service.access
        self._desks = desks
        self._credentials = desks.credentials
        self._limits = limits
        self._now_ms = now_ms
        self._rate = RateLimit(limits.requests_per_second, limits.burst)
        self._streams = StreamLimits(closing, limits.heartbeat_seconds)
        self._stream_places = StreamPlaces(limits)
        self._in_flight = InFlight()
        self._decoders: dict[type, msgspec.json.Decoder[Any]] = {}

    async def answer(self, route: Route[Any, Any], request: Request[Any, Any, Any]) -> ASGIApp:
        now_ms = self._now_ms()
        origin = _called(route, request)
        place: Place | None = request.scope["state"].get(PLACE)
        who, line, still_allowed = NOBODY, _NO_TOKEN, _always
        if route.role is not None:
            line = await self._line(route, request, now_ms)
            token = line[0]
            rank = Rank.OPERATOR if at_least(token.role, Role.OPERATOR) else Rank.USER
            if place is not None:
                place.proved(f"user {token.user}", rank)
            self._rate.take(token.id, now_ms)
            still_allowed = Permit(self._access, self._credentials, line, route.role, self._now_ms).holds
            who = who_is(line, await self._credentials.projects(), route.role)
            check_role(who, route.role)
        raw_query = request.scope["query_string"]
        query = read_query(raw_query, route.query)
        is_dry_run = getattr(query, "dry_run", False)
        if is_dry_run and origin is not None:
            origin.changes = False
        is_read = not (route.body is type(None) or route.streams_body)
        raw = await self._whole_body(route, request) if is_read else b""
        call = Call(
            who=who,
            query=query,
            body=self._body(route, request, raw),
            names=request.path_params,
            headers=request.headers,
            now_ms=now_ms,
            streams=self._streams,
            still_allowed=still_allowed,
            line=line,
            service=self._service,
            place=place,
        )
        key = request.headers.get(idempotency.HEADER) if route.takes_key else None
        path = f"{request.scope['path']}?{raw_query.decode('latin-1')}"
        keyed = None if key is None else KeyedRequest(who.user, key, route.method, path, raw)
        try:
            if route.streams and route.role is not None:
                return await self._stream(route, call, token.id, rank)
            if keyed is None or is_dry_run:
                return await self._work(route, call)
            return await self._answer_once(route, call, keyed, origin)
        except Unavailable as error:
            raise _told_to(who, error) from error

    async def _stream(
        self, route: Route[Any, Any], call: Call[Any, Any], token_id: str, rank: Rank
    ) -> ASGIApp:
        """A streamed answer holds one of a limited number of places until its end."""
        give_back = self._stream_places.take(token_id, call.who.user, is_kept=rank is Rank.OPERATOR)
        try:
            reply = await self._work(route, call)
        except BaseException:
            give_back()
            raise

        async def held(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await reply(scope, receive, send)
            finally:
                give_back()

        return held

    async def _answer_once(
        self, route: Route[Any, Any], call: Call[Any, Any], keyed: KeyedRequest, origin: Origin | None
    ) -> ASGIApp:
        async with self._in_flight.alone(keyed):
            earlier = await keyed.earlier_reply(self._desks.answer)
            if earlier is not None:
                if origin is not None:
                    origin.changes = False  # The first one has the record.
                return earlier
            call.keyed = keyed
            return await self._work(route, call)

    async def _work(self, route: Route[Any, Any], call: Call[Any, Any]) -> ASGIApp:
        return await route.call(call, *(self._desks.by_class[kind] for kind in route.desks))

    async def _line(self, route: Route[Any, Any], request: Request[Any, Any, Any], now_ms: int) -> Line:
        """Of the token in the header; only where there is no such header, of the session in the cookie."""
        shown, pages = request.headers.get("authorization"), self._service.pages
        if shown is None and pages is not None:
            line = await pages.line_of(request.headers, now_ms, changes=route.method != "GET")
            if line is not None:
                return line
        return await self._access.line_of(shown, now_ms)

    async def _whole_body(self, route: Route[Any, Any], request: Request[Any, Any, Any]) -> bytes:
        raw = await whole_body(request.receive, self._limits, request.headers.get("content-length"))
        media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if raw and media_type not in route.reads:
            raise ProblemError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "the content type of the body isn't supported",
                field="Content-Type",
                help=f"send {' or '.join(route.reads)}",
            )
        return raw

    def _body(self, route: Route[Any, Any], request: Request[Any, Any, Any], raw: bytes) -> Any:
        if route.streams_body:
            limits = self._limits
            within_s = limits.body_seconds * max(1, limits.file_bytes // 2**20)
            return body_chunks(
                request.receive, limits.file_bytes, within_s, request.headers.get("content-length")
            )
        if route.body is bytes:
            return raw
        if route.body is type(None):
            return None
        decoder = self._decoders.get(route.body)
        if decoder is None:
            decoder = self._decoders[route.body] = msgspec.json.Decoder(route.body)
        return read_body(raw or b"{}", decoder)


def _told_to(who: Who, error: Unavailable) -> Unavailable:
    if not error.cause or not at_least(who.role, Role.OPERATOR):
        return error
    return Unavailable(str(error), error.help)


def _called(route: Route[Any, Any], request: Request[Any, Any, Any]) -> Origin | None:
    """The current call, as far as it is known before any check."""
    origin = current()
    if origin is not None:
        origin.route = route.path
        origin.changes = route.changes
        origin.done_status = max(route.answers)
        origin.subject = printable(str(next(iter(request.path_params.values()), "")).removeprefix("/"))
    return origin


async def _always(projects: tuple[str, ...] | None) -> bool:
    return True
