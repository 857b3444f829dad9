"""Plugins of the scheduler: what there is, what it does, what went wrong."""

from __future__ import annotations

from typing import Any

from rota.api.documents import Page
from rota.api.people import Role
from rota.api.plugins import PluginDocument
from rota.loop.desk.plugins import PluginsDesk
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route

TAG = "plugins"


async def list_plugins(call: Call[Query, None], plugins: PluginsDesk) -> Reply:
    """Those that a policy can name, and those that it names. Faults are counted since the server started."""
    return json_reply(Page[PluginDocument](items=list(await plugins.plugins(call.who))))


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/plugins",
        call=list_plugins,
        summary="List plugins and their faults",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[PluginDocument]},
    ),
)
