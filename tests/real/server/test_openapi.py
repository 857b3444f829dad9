"""Requests made up from the OpenAPI document, good ones and bad ones: each is answered as the document says.

The server has no worker: whatever these requests submit, nothing is ever executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from msgspec.structs import fields
from schemathesis import Case, GenerationMode
from schemathesis.checks import positive_data_acceptance
from schemathesis.specs.openapi.schemas import OpenApiSchema

from rota.server.http.route import Route
from rota.server.routes import ROUTES
from tests.real.server.rota_server import RotaServer

NO_WORKER = {
    "ROTA_SERVER_EMBEDDED_WORKER": "false",
    "ROTA_SERVER_LIMITS_REQUESTS_PER_SECOND": "1000000",
}
ENDLESS = "follow_events"
ANSWER_S = 20
EXAMPLES = 20


@pytest.fixture(scope="module")
def idle_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    server = RotaServer(tmp_path_factory.mktemp("idle"), environment=NO_WORKER)
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def interface(idle_server: RotaServer) -> OpenApiSchema:
    return schemathesis.openapi.from_url(f"{idle_server.url}/openapi.json")


def _says_something(route: Route[Any, Any]) -> bool:
    """Where there is nothing to say, nothing can be wrong with it."""
    return "{" in route.path or bool(fields(route.query)) or route.body is not type(None)


CASES = [
    (route, mode)
    for route in ROUTES
    for mode in GenerationMode
    if route.operation_id != ENDLESS and (mode is GenerationMode.POSITIVE or _says_something(route))
]


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("route", "mode"), CASES, ids=[f"{route.operation_id}-{mode.value}" for route, mode in CASES]
)
def test_every_request_is_answered_as_documented(
    idle_server: RotaServer, interface: OpenApiSchema, route: Route[Any, Any], mode: GenerationMode
) -> None:
    headers = {"Authorization": f"Bearer {idle_server.token}"}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=interface[route.path][route.method].as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        assume(case.query.get("follow") != "true")  # Who follows waits.
        # What a schema can't say, that a node exists, say, may be wrong with a request all the same.
        case.call_and_validate(headers=headers, timeout=ANSWER_S, excluded_checks=[positive_data_acceptance])

    ask()
