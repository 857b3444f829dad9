"""Limits: what a user may request and use."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from rota.api.people import LimitsDocument, Role
from rota.loop.desk.limits import LimitsDesk
from rota.model.ids import DEFAULT_PROJECT
from rota.server.http.problems import forbidden
from rota.server.http.reading import read_step
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route
from rota.server.identity.access import check_sees

Name = Annotated[str, Meta(max_length=253)]


class LimitsQuery(Query, frozen=True, kw_only=True):
    user: Annotated[Name, Meta(description="Operators may ask for others'. Left out: yourself.")] | None = (
        None
    )
    project: (
        Annotated[Name, Meta(description="In this project. Left out: where your jobs go that name none.")]
        | None
    ) = None


async def show_limits(call: Call[LimitsQuery, None], limits: LimitsDesk) -> Reply:
    """Each with where it stands, and how much of it is used now."""
    who, query = call.who, call.query
    user = who.user if query.user is None else read_step(query.user, "user")
    if user != who.user and not who.is_operator:
        raise forbidden("only operators see the limits of others", "leave the user out", "user")
    if query.project is None:
        project = DEFAULT_PROJECT if who.projects is None else next(iter(who.projects), "")
    else:
        project = read_step(query.project, "project")
        check_sees(who, project, "project", project)
    is_exempt = user == who.user and who.is_operator
    return json_reply(await limits.limits(user, project, is_exempt))


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/limits",
        call=show_limits,
        summary="Show your limits",
        tag="limits",
        role=Role.VIEWER,
        query=LimitsQuery,
        body=type(None),
        answers={200: LimitsDocument},
    ),
)
