"""The server itself: whether it is well, what it counts, whom a token stands for."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rota.api.people import MeDocument, Role
from rota.api.service import ReloadDocument, StatsDocument
from rota.control.errors import Unavailable
from rota.loop.desk.status import StatusDesk
from rota.loop.telemetry.metrics import CONTENT_TYPE
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Query, Route
from rota.server.service.reloading import Reloading

TAG = "service"


class HealthDocument(Struct, frozen=True):
    status: str


async def check_alive(call: Call[Query, None]) -> Reply:
    """The process answers; no more than that."""
    return json_reply(HealthDocument("ok"))


async def check_ready(call: Call[Query, None]) -> Reply:
    """Whether it can commit changes. A client without a token isn't told what is wrong; the log has it."""
    readiness = call.service.readiness
    parts = await readiness.health()
    if not readiness.is_ready or not all(health.healthy for _, health in parts):
        raise Unavailable("the server isn't ready")
    return json_reply(HealthDocument("ready"))


async def read_metrics(call: Call[Query, None]) -> Reply:
    """In the format of Prometheus."""
    return Reply(200, call.service.metrics.exposition(), CONTENT_TYPE)


async def show_me(call: Call[Query, None]) -> Reply:
    who = call.who
    projects = None if who.projects is None else list(who.projects)
    pages = call.service.pages
    csrf = pages.csrf(call.headers) if pages is not None and call.line[0].browser else None
    return json_reply(MeDocument(user=who.user, role=who.role, projects=projects, csrf=csrf))


async def show_stats(call: Call[Query, None], status: StatusDesk) -> Reply:
    return json_reply(await status.stats())


async def reload_server(call: Call[ChangeQuery, None], reloading: Reloading) -> Reply:
    """The policy, and settings that can change while the server runs. If anything in them is wrong, nothing
    changes."""
    return json_reply(await reloading.reload(call.who.user, call.query.dry_run))


async def read_openapi(call: Call[Query, None]) -> Reply:
    """This document: OpenAPI 3.1."""
    return Reply(200, call.service.openapi)


def _look(
    path: str, call: Any, summary: str, answer: Any, role: Role | None = Role.VIEWER
) -> Route[Any, Any]:
    return Route(
        method="GET",
        path=path,
        call=call,
        summary=summary,
        tag=TAG,
        role=role,
        query=Query,
        body=type(None),
        answers={200: answer},
    )


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="POST",
        path="/v1/server/reload",
        call=reload_server,
        summary="Read the policy and settings again",
        tag=TAG,
        role=Role.ADMIN,
        query=ChangeQuery,
        body=type(None),
        answers={200: ReloadDocument},
    ),
    _look("/v1/me", show_me, "Show the user and role of the token", MeDocument),
    _look("/v1/stats", show_stats, "Show metrics", StatsDocument),
    _look("/metrics", read_metrics, "Metrics", "text/plain"),
    _look("/healthz", check_alive, "Is the process alive?", HealthDocument, role=None),
    _look("/readyz", check_ready, "Can it take requests?", HealthDocument, role=None),
    _look("/openapi.json", read_openapi, "Show this interface as OpenAPI", "application/json", role=None),
)
