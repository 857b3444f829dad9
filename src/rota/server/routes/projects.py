"""Projects, and who is in them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from rota.api.documents import ChangeDocument, Page
from rota.api.people import ProjectDocument, Role
from rota.control.errors import NotFound
from rota.loop.desk.people import PeopleDesk
from rota.server.documents import project_document
from rota.server.http.problems import forbidden
from rota.server.http.reading import read_step
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.identity.access import at_least
from rota.store.writing.batch import Project

TAG = "projects"


class ProjectForm(Form, frozen=True, kw_only=True):
    description: Annotated[str, Meta(max_length=10_000)] = ""
    members: Annotated[dict[str, Role], Meta(max_length=10_000, description="Users and roles.")] = field(
        default_factory=dict
    )


async def list_projects(call: Call[Query, None], people: PeopleDesk) -> Reply:
    """Those that the token is for."""
    seen = [project_document(one) for one in await people.projects() if call.who.sees(one.name)]
    return json_reply(Page[ProjectDocument](items=seen))


async def set_project(call: Call[ChangeQuery, ProjectForm], people: PeopleDesk) -> Reply:
    """Admins make projects; a project's own admins may change it, and give roles up to their own."""
    name = read_step(call.names["name"])
    before = next((one for one in await people.projects() if one.name == name), None)
    if before is None and at_least(call.who.role, Role.ADMIN):
        created_ms = call.now_ms
    elif before is None or not call.who.sees(name):
        raise NotFound("project", name)
    else:
        created_ms = before.created_ms
    project = Project(name, call.body.description, created_ms, _members(call))
    await people.set_project(project, call.who, call.query.dry_run, call.if_match)
    return json_reply(project_document(project))


def _members(call: Call[ChangeQuery, ProjectForm]) -> tuple[tuple[str, Role], ...]:
    for user, role in call.body.members.items():
        read_step(user, "members")
        if not at_least(call.who.role, role):
            raise forbidden(
                f"you can't give the role {role.value}, as you don't have it",
                f"give at most {call.who.role.value}",
                f"members.{user}",
            )
    return tuple(sorted(call.body.members.items(), key=lambda item: item[0]))


async def remove_project(call: Call[ChangeQuery, None], people: PeopleDesk) -> Reply:
    name = read_step(call.names["name"])
    if all(one.name != name for one in await people.projects()):
        raise NotFound("project", name)
    await people.remove_project(name, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[name]))


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/projects",
        call=list_projects,
        summary="List projects",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[ProjectDocument]},
    ),
    Route(
        method="PUT",
        path="/v1/projects/{name}",
        call=set_project,
        summary="Make or change a project",
        tag=TAG,
        role=Role.PROJECT_ADMIN,
        query=ChangeQuery,
        body=ProjectForm,
        answers={200: ProjectDocument},
        takes_version=True,
        examples={"one member": {"description": "Image models", "members": {"ada": "submitter"}}},
    ),
    Route(
        method="DELETE",
        path="/v1/projects/{name}",
        call=remove_project,
        summary="Remove a project",
        tag=TAG,
        role=Role.ADMIN,
        query=ChangeQuery,
        body=type(None),
        answers={200: ChangeDocument},
    ),
)
