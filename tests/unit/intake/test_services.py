"""Containers beside a job's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rota.intake.errors import InputError
from rota.intake.parts.runs import run_form
from rota.intake.submissions import read_submission
from rota.model.resources import Resources
from rota.model.run import Run, Service

pytestmark = pytest.mark.covers("pod-1")


def run(**fields: Any) -> Run:
    job = {"command": ["true"], "image": "python:3.12", **fields}
    [entry] = read_submission(json.dumps({"jobs": [job]}).encode(), "vision", "ada").entries
    return entry.spec.run


def test_they_are_read_and_written() -> None:
    services = {
        "db": {
            "image": "postgres:17",
            "command": ["postgres"],
            "environment": {"B": "2", "A": "1"},
            "ready": ["pg_isready"],
            "resources": {"cpu": 1},
        },
        "cache": {"image": "redis:7"},
    }
    found = run(services=services)
    assert found.services == (
        Service("cache", "redis:7"),
        Service(
            "db", "postgres:17", ("postgres",), (("A", "1"), ("B", "2")), ("pg_isready",), Resources(1000)
        ),
    )
    assert run(services=run_form(found)["services"]) == found


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "fields, message",
    [
        (
            {"image": "", "services": {"db": {"image": "a"}}},
            "jobs[0].services: services run beside",
        ),
        ({"services": {"runner": {"image": "a"}}}, 'jobs[0].services.runner: "runner" can\'t be the name'),
        ({"services": {"A": {"image": "a"}}}, 'jobs[0].services.A: "A" can\'t be the name'),
        ({"services": {"db": {"image": ""}}}, "jobs[0].services.db.image: is empty"),
        ({"services": {"db": {"image": "a b"}}}, 'jobs[0].services.db.image: "a b" is not the name'),
        ({"services": {"db": {"image": "a", "ready": ["\0"]}}}, "jobs[0].services.db.ready[0]: contains"),
        (
            {"services": {"db": {"image": "a", "environment": {"1": "x"}}}},
            'services.db.environment["1"]: "1" is not a name of a variable',
        ),
        ({"services": {"db": {"image": "a", "port": 1}}}, "port"),
    ],
)
def test_what_cannot_be_is_told(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(**fields)
    assert message in str(caught.value)
