"""Usage, quotas and shares: what projects have used, and what they may have."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from rota.api.documents import Page
from rota.api.people import Role, TenantDocument, UsageDocument
from rota.loop.desk.quotas import QuotasDesk
from rota.loop.desk.usage import UsageBy, UsageDesk
from rota.model.quantities import parse_timestamp_ms
from rota.server.http.reading import read_quantity
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route

TAG = "limits"
_WEEK_MS = 7 * 86_400_000


class UsageQuery(Query, frozen=True, kw_only=True):
    since: (
        Annotated[
            str, Meta(max_length=100, description="RFC 3339, or seconds since 1970. Left out: a week ago.")
        ]
        | None
    ) = None
    by: Annotated[UsageBy, Meta(description="What is added up.")] = UsageBy.PROJECT


async def show_usage(call: Call[UsageQuery, None], usage: UsageDesk) -> Reply:
    """Hours of cores, GPUs and memory that tasks asked for and held, in your projects. Jobs that were removed
    from the history aren't counted."""
    since = call.query.since
    since_ms = call.now_ms - _WEEK_MS if since is None else read_quantity("since", parse_timestamp_ms, since)
    return json_reply(await usage.usage(call.who, since_ms, call.query.by))


async def list_quotas(call: Call[Query, None], quotas: QuotasDesk) -> Reply:
    """Of your projects and their users: weights, shares, quotas, and what is held of them now."""
    return json_reply(Page[TenantDocument](items=await quotas.quotas(call.who)))


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/usage",
        call=show_usage,
        summary="Show what was used",
        tag=TAG,
        role=Role.VIEWER,
        query=UsageQuery,
        body=type(None),
        answers={200: UsageDocument},
    ),
    Route(
        method="GET",
        path="/v1/quotas",
        call=list_quotas,
        summary="List quotas and shares",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[TenantDocument]},
    ),
)
