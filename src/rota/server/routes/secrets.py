"""Secrets of a project: set, listed by name, removed. A value goes in, and never comes out again."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from rota.api.documents import ChangeDocument, Page
from rota.api.people import Role, SecretDocument
from rota.control.vault import LARGEST_BYTES
from rota.intake.submissions import SECRET_NAME
from rota.loop.desk.secrets import SecretsDesk
from rota.server.http.problems import bad_input
from rota.server.http.reading import read_step
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.identity.access import check_sees

TAG = "secrets"


class SecretForm(Form, frozen=True, kw_only=True):
    value: Annotated[str, Meta(min_length=1, max_length=LARGEST_BYTES, description="Text, without NUL.")]

    def __repr__(self) -> str:
        return "SecretForm(value=…)"


async def list_secrets(call: Call[Query, None], secrets: SecretsDesk) -> Reply:
    """Names, and who set them when. Values are never shown."""
    project = _project(call)
    return json_reply(Page[SecretDocument](items=list(await secrets.of(project))))


async def set_secret(call: Call[ChangeQuery, SecretForm], secrets: SecretsDesk) -> Reply:
    """Jobs that start from now on get this value."""
    project, name, value = _project(call), _name(call), call.body.value
    if "\0" in value or len(value.encode()) > LARGEST_BYTES:
        raise bad_input("value", f"holds a NUL, or more than {LARGEST_BYTES:,} bytes", "give shorter text")
    await secrets.set(project, name, value, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[name]))


async def remove_secret(call: Call[ChangeQuery, None], secrets: SecretsDesk) -> Reply:
    """Jobs that name it can't start any more."""
    project, name = _project(call), _name(call)
    await secrets.remove(project, name, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[name]))


def _project(call: Call[Any, Any]) -> str:
    project = read_step(call.names["project"])
    check_sees(call.who, project, "project", project)
    return project


def _name(call: Call[Any, Any]) -> str:
    name = read_step(call.names["secret"])
    if not SECRET_NAME.fullmatch(name):
        raise bad_input("name", "is not a name of a secret", "use letters, digits, '.', '_' and '-'")
    return name


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/projects/{project}/secrets",
        call=list_secrets,
        summary="List a project's secrets",
        tag=TAG,
        role=Role.SUBMITTER,
        query=Query,
        body=type(None),
        answers={200: Page[SecretDocument]},
    ),
    Route(
        method="PUT",
        path="/v1/projects/{project}/secrets/{secret}",
        call=set_secret,
        summary="Set a secret",
        tag=TAG,
        role=Role.PROJECT_ADMIN,
        query=ChangeQuery,
        body=SecretForm,
        answers={200: ChangeDocument},
        examples={"a key": {"value": "something that only jobs get to see"}},
    ),
    Route(
        method="DELETE",
        path="/v1/projects/{project}/secrets/{secret}",
        call=remove_secret,
        summary="Remove a secret",
        tag=TAG,
        role=Role.PROJECT_ADMIN,
        query=ChangeQuery,
        body=type(None),
        answers={200: ChangeDocument},
    ),
)
