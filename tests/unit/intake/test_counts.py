"""How many of a thing one job may have: what has more is refused, and the error says where and how many."""

import json
from typing import Any

import pytest

from rota.intake.errors import InputError
from rota.intake.submissions import read_submission
from rota.server.http.openapi import openapi_document
from rota.server.routes import ROUTES

pytestmark = pytest.mark.covers("trust-1")


def many(count: int) -> list[str]:
    return [f"x{number}" for number in range(count)]


def labels(count: int) -> dict[str, str]:
    return dict.fromkeys(many(count), "1")


def affinity(selector: Any) -> list[Any]:
    return [{"to": selector, "within": "zone"}]


CASES = [
    ("groups", 64, lambda n: {"groups": [{}] * n}),
    ("groups[0].labels", 64, lambda n: {"groups": [{"labels": labels(n)}]}),
    ("labels", 64, lambda n: {"labels": labels(n)}),
    ("node_selector", 64, lambda n: {"node_selector": labels(n)}),
    ("near", 64, lambda n: {"near": labels(n)}),
    ("resources", 64, lambda n: {"resources": {f"a.b/{one}": 1 for one in many(n)}}),
    ("limits", 64, lambda n: {"limits": {f"a.b/{one}": 1 for one in many(n)}}),
    ("ports", 64, lambda n: {"ports": list(range(1, n + 1))}),
    ("gpus.models", 1000, lambda n: {"gpus": {"count": 1, "models": many(n)}}),
    ("tolerations", 64, lambda n: {"tolerations": many(n)}),
    ("affinity", 32, lambda n: {"affinity": [{"to": {"a": one}, "within": "zone"} for one in many(n)]}),
    ("affinity[0].to", 64, lambda n: {"affinity": affinity(labels(n))}),
    ("affinity[0].to.a", 256, lambda n: {"affinity": affinity({"a": many(n)})}),
    (
        "affinity[0].to[0].values",
        256,
        lambda n: {"affinity": affinity([{"key": "a", "operator": "In", "values": many(n)}])},
    ),
    (
        "affinity[0].namespaces",
        1000,
        lambda n: {"affinity": [{"to": {"a": "b"}, "within": "zone", "namespaces": many(n)}]},
    ),
    ("spread", 32, lambda n: {"spread": [{"over": one, "of": {"a": "b"}} for one in many(n)]}),
    ("topology", 8, lambda n: {"topology": [{"key": one, "tasks": "same"} for one in many(n)]}),
    ("node_affinity.required", 32, lambda n: {"node_affinity": {"required": [{"names": ["n"]}] * n}}),
    (
        "node_affinity.preferred",
        32,
        lambda n: {"node_affinity": {"preferred": [{"names": ["n"], "weight": 1}] * n}},
    ),
    (
        "node_affinity.required[0].names",
        1000,
        lambda n: {"node_affinity": {"required": [{"names": many(n)}]}},
    ),
    ("pools", 1000, lambda n: {"pools": many(n)}),
    ("backends", 1000, lambda n: {"backends": many(n)}),
    ("environment", 1000, lambda n: {"environment": labels(n)}),
    ("outputs", 1000, lambda n: {"outputs": many(n)}),
    ("depends_on", 1000, lambda n: {"depends_on": list(range(1, n + 1))}),
    ("args", 10_000, lambda n: {"args": many(n)}),
]


def submit(fields: dict[str, Any]) -> None:
    read_submission(json.dumps({"jobs": [{"command": ["true"], **fields}]}).encode(), "p", "u")


@pytest.mark.parametrize(("field", "most", "fields"), CASES, ids=[field for field, *_ in CASES])
def test_so_many_and_no_more(field: str, most: int, fields: Any) -> None:
    submit(fields(most))
    with pytest.raises(InputError) as caught:
        submit(fields(most + 1))
    assert str(caught.value) == f"jobs[0].{field}: {most + 1} items are too many; give at most {most}"


def test_thousands_of_groups_are_refused_before_anything_is_made_of_them() -> None:
    with pytest.raises(InputError, match="5000 items are too many; give at most 64"):
        submit({"groups": [{"tasks": 1}] * 5000})


@pytest.mark.parametrize(
    ("schema", "field", "name", "most"),
    [
        ("SubmittedForm", "groups", "maxItems", 64),
        ("SubmittedForm", "affinity", "maxItems", 32),
        ("SubmittedForm", "labels", "maxProperties", 64),
        ("SubmittedForm", "environment", "maxProperties", 1000),
        ("GroupForm", "tolerations", "maxItems", 64),
    ],
)
def test_clients_can_read_them(schema: str, field: str, name: str, most: int) -> None:
    schemas = json.loads(openapi_document(ROUTES))["components"]["schemas"]
    assert schemas[schema]["properties"][field][name] == most
