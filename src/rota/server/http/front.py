"""What every request passes first, route or no route: limits by address, counts, traces."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from time import perf_counter

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from rota.control.origin import Origin, calling
from rota.loop.telemetry.metrics import Metrics
from rota.loop.telemetry.tracing import span
from rota.server.browser.hosts import Hosts
from rota.server.http.limits import Limits, RateLimit, client_of
from rota.server.http.problems import ProblemError, problem_reply
from rota.server.identity.audit import Auditor

_log = structlog.get_logger("rota.server")
NO_ROUTE = "none"
"""The route of a request that has none: paths that clients make up are no labels."""
REQUEST_ID = b"x-request-id"
"""Of every answer: the same id is in the audit log."""


class Front:
    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        metrics: Metrics,
        now_ms: Callable[[], int],
        auditor: Auditor | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """`hosts`: by which names browsers may ask; None: by any."""
        self._hosts = hosts
        self._auditor = auditor or Auditor(now_ms, None)
        self._app = app
        self._metrics = metrics
        self._now_ms = now_ms
        self._proxies = limits.proxies
        self._rate = RateLimit(limits.requests_per_second, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID, origin.request.encode())]
            await send(message)

        method = str(scope["method"])
        origin = Origin(token_hex(8), client_of(scope, self._proxies), method, NO_ROUTE)
        with calling(origin), span("request", method=method) as current:
            try:
                await self._answer(scope, receive, noting, origin)
            finally:
                self._auditor.answered(origin, status)
            route = scope.get("path_template") or NO_ROUTE
            current.set_attribute("route", route)
            current.set_attribute("status", status)
        seconds = perf_counter() - began
        self._metrics.observe_request(route, method, status, seconds)
        _log.debug(
            "request.done",
            method=method,
            route=route,
            status=status,
            seconds=round(seconds, 6),
            user=origin.user,
            address=origin.address,
            request=origin.request,
        )

    async def _answer(self, scope: Scope, receive: Receive, send: Send, origin: Origin) -> None:
        try:
            self._rate.take(origin.address, self._now_ms())
            if self._hosts is not None:
                headers = dict(scope["headers"])
                host = headers.get(b"host", b"").decode("latin-1")
                self._hosts.check(scope["path"], host, has_token=b"authorization" in headers)
        except ProblemError as error:
            origin.problem = error.kind
            await problem_reply(error, scope["path"])(scope, receive, send)
            return
        await self._app(scope, receive, send)
