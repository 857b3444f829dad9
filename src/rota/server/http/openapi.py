"""The interface as an OpenAPI 3.1 document, made from the routes, which also check requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from inspect import getdoc
from typing import Any

import msgspec

from rota import __version__
from rota.api.documents import Problem
from rota.intake.submissions import SECRET_NAME
from rota.server.http import idempotency
from rota.server.http.problems import MEDIA_TYPE as PROBLEM_TYPE
from rota.server.http.reading import ARRAY_PATTERN, JOB_PATTERN, MAX_NAME, NAME_PATTERN, SHA256_PATTERN
from rota.server.http.reply import JSON
from rota.server.http.route import Route

_SECURITY = "token"
_PAGE = re.compile(rb"Page_(\w+?)Document_")
"""As msgspec names a page of documents; generated clients read better with `JobPage`."""
_REFS = "#/components/schemas/{name}"
_TAGS = {
    "jobs": "Jobs that run, wait or have ended.",
    "files": "Input files of jobs.",
    "events": "Events of jobs, nodes and queues.",
    "nodes": "Nodes that jobs run on.",
    "agents": "Machines that have joined to run tasks.",
    "queues": "Queues that jobs wait in.",
    "limits": "Limits of what users may request and use.",
    "maintenance": "Periods in which nodes are away.",
    "reservations": "Nodes that are reserved for projects or users.",
    "projects": "Projects and their members.",
    "secrets": "Secrets for the jobs of a project.",
    "tokens": "Access tokens.",
    "sign-in": "A token for some hours, by a provider of OpenID Connect.",
    "audit": "The audit log: who did what, and what was refused.",
    "service": "The server itself.",
}
_NAMES: dict[str, dict[str, object]] = {
    "array": {
        "description": "The number of an array, as 17.",
        "schema": {"type": "string", "pattern": ARRAY_PATTERN},
        "example": "17",
    },
    "job": {
        "description": "A job's id, as 17; in an array as 17.3.",
        "schema": {"type": "string", "pattern": JOB_PATTERN},
        "example": "17",
    },
    "name": {
        "description": "Its name.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": NAME_PATTERN},
    },
    "project": {
        "description": "The project's name.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": NAME_PATTERN},
    },
    "secret": {
        "description": "The secret's name.",
        "schema": {"type": "string", "pattern": f"^{SECRET_NAME.pattern}$"},
    },
    "path": {
        "description": "As the job declares it, relative to the task's folder; may contain slashes.",
        "schema": {"type": "string", "minLength": 1},
    },
    "sha256": {"description": "Of the file.", "schema": {"type": "string", "pattern": SHA256_PATTERN}},
    "id": {
        "description": "The token's id, not its secret.",
        "schema": {"type": "string", "pattern": "^[^/]+$"},
    },
}


def openapi_document(routes: Sequence[Route[Any, Any]]) -> bytes:
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Rota",
            "version": __version__,
            "description": "Rota decides which jobs run where and when, runs them, and explains why.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                _SECURITY: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A secret that begins with rota_ and that `rota token add` makes.",
                }
            },
            "responses": {"Problem": _problem_response(schemas)},
        },
    }
    return _PAGE.sub(rb"\1Page", msgspec.json.encode(document))


class _Schemas:
    """JSON schemas of all that is sent and answered, each named once."""

    def __init__(self, routes: Iterable[Route[Any, Any]]) -> None:
        types = list(dict.fromkeys(_types(routes)))
        schemas, self.components = msgspec.json.schema_components(
            types, ref_template=_REFS, schema_hook=_schema_of_others
        )
        self._schemas = dict(zip(types, schemas, strict=True))

    def of(self, wanted: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._schemas[wanted]
        return found


def _types(routes: Iterable[Route[Any, Any]]) -> Iterator[Any]:
    yield Problem
    for route in routes:
        yield from (answer for answer in route.answers.values() if not isinstance(answer, (str, tuple)))
        if _is_struct(route.body):
            yield route.body
        if _is_struct(route.documented_body):
            yield route.documented_body


def _schema_of_others(kind: type) -> dict[str, Any]:
    if kind is object:
        return {"description": "Any value."}
    raise NotImplementedError


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(route: Route[Any, Any], schemas: _Schemas) -> dict[str, object]:
    operation: dict[str, object] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)],
        "responses": {
            **{str(status): _response(status, answer, schemas) for status, answer in route.answers.items()},
            "default": {"$ref": "#/components/responses/Problem"},
        },
        "security": [] if route.role is None else [{_SECURITY: []}],
    }
    description = " ".join((getdoc(route.call) or "").split())
    if route.role is not None:
        description = f"{description} Needs the role {route.role.value}.".strip()
    operation["description"] = description or route.summary
    body = _request_body(route, schemas)
    if body is not None:
        operation["requestBody"] = body
    return operation


def _path_parameters(route: Route[Any, Any]) -> list[dict[str, object]]:
    names = re.findall(r"{(\w+)}", route.path)
    return [{"name": name, "in": "path", "required": True, **_NAMES[name]} for name in names]


def _query_parameters(route: Route[Any, Any]) -> list[dict[str, object]]:
    (schema,), components = msgspec.json.schema_components([route.query], ref_template="{name}")
    fields = components[schema["$ref"]].get("properties", {})
    parameters = []
    for name, spec in fields.items():
        shown = _not_null(spec)
        if "$ref" in shown:
            # Written out: what only queries use isn't among the documents that could be referred to.
            shown = {**components[shown.pop("$ref")], **shown}
        description = shown.pop("description", "")
        parameters.append({"name": name, "in": "query", "description": description, "schema": shown})
    return parameters


def _not_null(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter that isn't there isn't null: it just isn't there."""
    shown = dict(spec)
    if shown.get("default", ...) is None:
        del shown["default"]
    choices = [one for one in shown.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del shown["anyOf"]
        shown.update(choices[0])
    return shown


def _header_parameters(route: Route[Any, Any]) -> list[dict[str, object]]:
    headers: list[dict[str, object]] = []
    if route.takes_key:
        headers.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "Requests with the same key are carried out once and get the same answer.",
                "schema": {"type": "string", "minLength": 1, "maxLength": idempotency.MAX_LENGTH},
            }
        )
    if route.takes_version:
        headers.append(
            {
                "name": "If-Match",
                "in": "header",
                "description": "The `version` that you read. The answer is 412 if it has changed.",
                "schema": {"type": "string"},
            }
        )
    if route.path.endswith("/stream"):
        headers.append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "description": "Id of the last event you received: the stream continues after it.",
                "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
            }
        )
    return headers


def _request_body(route: Route[Any, Any], schemas: _Schemas) -> dict[str, object] | None:
    if route.documented_body is not None:
        if isinstance(route.documented_body, str):
            return {"required": True, "content": {route.documented_body: {}}}
        is_struct = _is_struct(route.documented_body)
        schema = schemas.of(route.documented_body) if is_struct else route.documented_body
    elif _is_struct(route.body):
        schema = schemas.of(route.body)
    else:
        return None
    content: dict[str, object] = {"schema": schema}
    if route.examples:
        content["examples"] = {name: {"value": value} for name, value in route.examples.items()}
    is_required = not _is_struct(route.body) or any(
        one.required for one in msgspec.structs.fields(route.body)
    )
    return {"required": is_required, "content": {JSON: content}}


def _response(status: int, answer: Any, schemas: _Schemas) -> dict[str, object]:
    description = HTTPStatus(status).phrase
    if isinstance(answer, str):
        answer = (answer,)
    if isinstance(answer, tuple):
        return {"description": description, "content": {media_type: {} for media_type in answer}}
    return {"description": description, "content": {JSON: {"schema": schemas.of(answer)}}}


def _problem_response(schemas: _Schemas) -> dict[str, object]:
    example = Problem(
        type="/problems/bad-input",
        title="The request is invalid",
        status=422,
        detail="-1 is negative",
        instance="/v1/jobs",
        field="jobs[3].resources.cpu",
        help="give 0 or more",
    )
    return {
        "description": "What is wrong, where, and how to fix it (RFC 9457).",
        "content": {PROBLEM_TYPE: {"schema": schemas.of(Problem), "example": msgspec.to_builtins(example)}},
    }
