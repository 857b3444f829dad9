"""What every request passes first, route or no route: limits by address, counts, traces."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from rota.loop.metrics import Metrics
from rota.loop.tracing import span
from rota.server.limits import Limits, RateLimit
from rota.server.problems import problem_reply

_log = structlog.get_logger("rota.server")
NO_ROUTE = "none"
"""The route of a request that has none: paths that clients make up are no labels."""


class Front:
    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, now_ms: Callable[[], int]) -> None:
        self._app = app
        self._metrics = metrics
        self._now_ms = now_ms
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
            await send(message)

        method = str(scope["method"])
        with span("request", method=method) as current:
            await self._answer(scope, receive, noting)
            route = scope.get("path_template") or NO_ROUTE
            current.set_attribute("route", route)
            current.set_attribute("status", status)
        seconds = perf_counter() - began
        self._metrics.observe_request(route, method, status, seconds)
        _log.debug("request", method=method, route=route, status=status, seconds=round(seconds, 6))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        try:
            self._rate.take(client[0] if client else "", self._now_ms())
        except Exception as error:
            await problem_reply(error, scope["path"])(scope, receive, send)
            return
        await self._app(scope, receive, send)
