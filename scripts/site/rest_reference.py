"""Every route with its parameters, what it takes and what it answers, from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rota.server.http.openapi import openapi_document
from rota.server.routes import ROUTES
from scripts.site.links import anchor_of
from scripts.site.markdown import MADE, cell, code, paragraphs, table

_METHODS = ("get", "post", "put", "patch", "delete")


def page() -> str:
    document = json.loads(openapi_document(ROUTES))
    lines = [
        MADE,
        "# REST interface",
        "",
        "All routes and documents, from the OpenAPI document that every server has at `/openapi.json`.",
        "[REST](../rest.md) says how to use them: tokens, pages, streams, idempotency keys and errors.",
        "",
    ]
    for tag in document["tags"]:
        operations = list(_operations(document, tag["name"]))
        if operations:
            lines += [f"## {tag['name'].capitalize()}", "", *paragraphs(tag["description"])]
        for path, method, operation in operations:
            lines += _route(path, method, operation)
    lines += ["## Documents", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _document(name, schema)
    return "\n".join(lines)


def _operations(document: dict[str, Any], tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods and tag in methods[method].get("tags", ()):
                yield path, method, methods[method]


def _route(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {method.upper()} {path}", "")
    yield from paragraphs(operation.get("summary", ""))
    yield from paragraphs(operation.get("description", ""))
    parameters = (
        (code(one["name"]), one["in"], _kind(one["schema"]), cell(one.get("description", "")))
        for one in operation.get("parameters", ())
        if "name" in one
    )
    yield from table(("parameter", "in", "type", ""), parameters)
    if body := operation.get("requestBody"):
        yield from (f"Takes {_content(body)}.", "")
    answers = (
        (status, _content(answer), cell(answer.get("description", "")))
        for status, answer in operation["responses"].items()
        if status.isdigit() and status < "400"
    )
    yield from table(("status", "answer", ""), answers)


def _document(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "", *paragraphs(schema.get("description", "")))
    if "enum" in schema:
        yield from ("One of " + ", ".join(code(str(value)) for value in schema["enum"]) + ".", "")
    required = set(schema.get("required", ()))
    fields = (
        (code(field), _kind(one), "yes" if field in required else "", cell(one.get("description", "")))
        for field, one in schema.get("properties", {}).items()
    )
    yield from table(("field", "type", "always", ""), fields)


def _content(said: dict[str, Any]) -> str:
    content = said.get("content", {})
    return ", ".join(f"{_kind(one.get('schema', {}))} as {code(kind)}" for kind, one in content.items())


def _kind(schema: dict[str, Any]) -> str:
    """A type as a reader would say it, with a link to its document."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return f"[{name.rpartition('.')[2]}](#{anchor_of(name)})"
        case {"anyOf": list(kinds)}:
            return " or ".join(_kind(one) for one in kinds)
        case {"enum": list(values)}:
            return ", ".join(code(str(value)) for value in values)
        case {"const": value}:
            return code(str(value))
        case {"type": "array", "items": dict(items)}:
            return f"list of {_kind(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_kind(values)}"
        case {"type": str(name)}:
            return str(schema.get("format", name))
        case _:
            return "anything"
