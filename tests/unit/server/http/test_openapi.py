from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rota.server.http.openapi import openapi_document
from rota.server.routes import ROUTES
from tests.unit.server.fake_desk import Service

DOCUMENT: dict[str, Any] = json.loads(openapi_document(ROUTES))
OPERATIONS = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]


def test_it_is_there_without_a_token() -> None:
    response = Service().ask("GET", "/openapi.json", None)
    assert response.json() == DOCUMENT
    assert response.headers["content-type"] == "application/json"


def test_every_route_is_in_it() -> None:
    assert {operation["operationId"] for operation in OPERATIONS} == {one.operation_id for one in ROUTES}
    assert {tag for operation in OPERATIONS for tag in operation["tags"]} == {
        tag["name"] for tag in DOCUMENT["tags"]
    }


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    references = set(re.findall(r'"\$ref": "([^"]+)"', text))
    assert {one.rpartition("/")[0] for one in references} == {
        "#/components/schemas",
        "#/components/responses",
    }
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert named == set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: str(one["operationId"]))
def test_operations_can_be_understood(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert "default" in operation["responses"]
    assert all(parameter["description"] for parameter in operation["parameters"])
    assert all(parameter["schema"] for parameter in operation["parameters"])


def test_examples_are_accepted() -> None:
    names = {"job": "17", "name": "n1", "id": "eve", "project": "vision", "secret": "api-key"}
    tried = 0
    for route in ROUTES:
        for example in route.examples.values():
            service = Service()
            service.desk.queue = service.desk.queue.__class__("n1", service.desk.queue.mode)  # type: ignore[arg-type]
            path = re.sub(r"{(\w+)}", lambda match: names[match[1]], route.path)
            text = json.dumps(example).replace("node-1", "n1")
            response = service.ask(
                route.method, path, content=text, headers={"content-type": "application/json"}
            )
            assert response.status_code in (200, 201), (route.path, response.text)
            tried += 1
    assert tried > 8
