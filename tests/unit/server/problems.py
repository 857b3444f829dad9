"""Errors as documents."""

from __future__ import annotations

from typing import Any

import httpx

from rota.server.http.problems import TITLES


def assert_problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"/problems/{kind}"
    assert (problem["title"], problem["status"]) == (TITLES[kind], status)
    assert problem["detail"]
    assert problem["help"]
    return problem
