"""What holds for all routes: who may use them, and that nonsense is refused without a change."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rota.api.people import Role
from rota.server.http.route import ChangeQuery, Route
from rota.server.identity.access import at_least
from rota.server.routes import ROUTES
from tests.kit.sampling import sampled
from tests.unit.server.fake_desk import Service
from tests.unit.server.problems import assert_problem

NAMES = {
    "job": "17",
    "array": "18",
    "name": "n1",
    "path": "result.txt",
    "sha256": "0" * 64,
    "id": "eve",
    "project": "vision",
    "secret": "api-key",
}
WITH_TOKEN = [route for route in ROUTES if route.role is not None]
CHANGING = [route for route in ROUTES if route.method != "GET"]
WITH_JSON = [route for route in CHANGING if route.documented_body or route.body is not type(None)]
WITH_JSON = [route for route in WITH_JSON if not route.streams_body]
NAMED = [route for route in ROUTES if "{" in route.path]


def route_id(one: Any) -> str | None:
    return f"{one.method} {one.path}" if isinstance(one, Route) else None


def path_of(route: Route[Any, Any], **names: str) -> str:
    return re.sub(r"{(\w+)}", lambda match: {**NAMES, **names}[match[1]], route.path)


def test_operation_ids_and_paths_are_unique() -> None:
    assert len({route.operation_id for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_only_these_need_no_token() -> None:
    """Agents prove who they are in other ways."""
    assert {route.path for route in ROUTES if route.role is None} == {
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/v1/agents/join",
        "/v1/agents/renew",
        "/v1/auth",
        "/v1/auth/sign-in",
    }


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("route", WITH_TOKEN, ids=route_id)
@pytest.mark.parametrize(
    "authorization",
    sampled(
        [
            None,
            "Bearer ",
            "Bearer rota_" + "y" * 43,
            "Basic YWRhOmFkYQ==",
            "Bearer " + "z" * 5000,
            "Bearer rota_" + "stale".ljust(43, "x"),
        ],
        quick=1,
    ),
)
def test_without_a_valid_token_nothing_is_told(route: Route[Any, Any], authorization: str | None) -> None:
    service = Service()
    headers = {} if authorization is None else {"authorization": authorization}
    response = service.ask(route.method, path_of(route), role=None, headers=headers)
    assert_problem(response, 401, "unauthorised")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert not service.desk.changes


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("route", WITH_TOKEN, ids=route_id)
def test_a_lower_role_is_refused(route: Route[Any, Any]) -> None:
    service = Service()
    assert route.role is not None
    for role in Role:
        if not at_least(role, route.role):
            problem = assert_problem(service.ask(route.method, path_of(route), role), 403, "forbidden")
            assert route.role.value in problem["help"]
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("route", ROUTES, ids=route_id)
@pytest.mark.parametrize("query", sampled(["nonsense=1", "limit=1&limit=2", "x=%00", "y=%ff"], quick=1))
def test_parameters_that_mean_nothing_are_refused(route: Route[Any, Any], query: str) -> None:
    service = Service()
    response = service.ask(route.method, f"{path_of(route)}?{query}", json={})
    assert_problem(response, 422, "bad-input")
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("route", WITH_JSON, ids=route_id)
@pytest.mark.parametrize(
    "body",
    sampled([b"{", b"\xff", b"[" * 100_000, b'{"a":1}]', b"nonsense"], quick=1),
    ids=["cut", "bytes", "deep", "more", "text"],
)
def test_a_body_that_is_no_json_is_refused(route: Route[Any, Any], body: bytes) -> None:
    service = Service()
    response = service.ask(
        route.method, path_of(route), content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code in (400, 422)
    assert response.json()["type"] in ("/problems/bad-request", "/problems/bad-input")
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("route", WITH_JSON, ids=route_id)
def test_unknown_fields_and_other_shapes_are_refused(route: Route[Any, Any]) -> None:
    service = Service()
    headers = {"content-type": "application/json"}
    for body in (b'{"nonsense": 1}', b"[]", b"7", b"null", b'{"state": 1e308}'):
        response = service.ask(route.method, path_of(route), content=body, headers=headers)
        assert_problem(response, 422, "bad-input")
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("route", WITH_JSON, ids=route_id)
def test_bodies_have_a_limit(route: Route[Any, Any]) -> None:
    service = Service()
    response = service.ask(
        route.method,
        path_of(route),
        content=b" " * (2**20 + 1),
        headers={"content-type": "application/json"},
    )
    assert_problem(response, 413, "too-large")


@pytest.mark.parametrize("route", WITH_JSON, ids=route_id)
def test_only_json_is_read(route: Route[Any, Any]) -> None:
    response = Service().ask(
        route.method, path_of(route), content=b"<x/>", headers={"content-type": "text/xml"}
    )
    assert_problem(response, 415, "unsupported-media-type")


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("route", NAMED, ids=route_id)
@pytest.mark.parametrize(
    "name", sampled(["%00", "a%00b", "%2e%2e", "..%2f..%2fetc", "x" * 3000, "%20", "%1b[31m"], quick=1)
)
def test_hostile_names_are_refused(route: Route[Any, Any], name: str) -> None:
    service = Service()
    path = re.sub(r"{\w+}", name, route.path)
    response = service.ask(route.method, path, json={} if route in WITH_JSON else None)
    assert response.status_code in (404, 405, 422)
    assert response.headers["content-type"] == "application/problem+json"
    assert not service.desk.changes
    assert not service.desk.files


@pytest.mark.parametrize("route", ROUTES, ids=route_id)
def test_other_methods_are_refused_and_the_right_ones_named(route: Route[Any, Any]) -> None:
    response = Service().ask("TRACE", path_of(route))
    assert_problem(response, 405, "method-not-allowed")
    assert route.method in response.headers["allow"]


@pytest.mark.parametrize("path", ["/v1", "/v2/jobs", "/docs", "/schema", "/v1/jobs/17/x", "/v1/%00"])
def test_other_paths_are_problems_too(path: str) -> None:
    assert_problem(Service().ask("GET", path), 404, "not-found")


@pytest.mark.parametrize("route", [one for one in CHANGING if one.query is not ChangeQuery], ids=route_id)
def test_all_changes_have_a_dry_run(route: Route[Any, Any]) -> None:
    """But for a question, which changes nothing, files, which are known by their content, certificates and
    sessions, which can't be given as if, and input, which a task reads as it comes."""
    known = ("plan_jobs", "put_file", "join_agent", "renew_agent", "sign_in", "send_input")
    assert route.operation_id in known


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("route", [one for one in ROUTES if "{job}" in one.path], ids=route_id)
@pytest.mark.parametrize(
    "job, status, kind",
    [
        ("19", 403, "not-yours"),
        ("20", 403, "not-yours"),
        ("20_0", 403, "not-yours"),
        ("19.0", 404, "not-found"),
        ("999999", 404, "not-found"),
        ("5", 410, "gone"),
    ],
)
def test_jobs_of_others_those_that_never_were_and_those_that_went_are_told_apart(
    route: Route[Any, Any], job: str, status: int, kind: str
) -> None:
    service = Service()
    service.desk.removed.add("5")
    body = {"time_limit": "1h"} if route.operation_id == "extend_job" else None
    response = service.ask(route.method, path_of(route, job=job), Role.SUBMITTER, json=body)
    problem = assert_problem(response, status, kind)
    # Whose it is, or of which project, is nobody's business.
    assert not any(word in response.text for word in ("secret", "ada", "greet"))
    assert job.replace("_", ".") in problem["detail"]
    assert not service.desk.changes


def test_a_fault_of_our_own_shows_nothing_but_an_id() -> None:
    service = Service()
    service.desk.error = RuntimeError("password in /secret/place")
    response = service.ask("POST", "/v1/jobs/17/hold")
    problem = assert_problem(response, 500, "internal")
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert re.search("[0-9a-f]{32}", problem["detail"])
