"""The singular and the plural of every field mean the same."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from rota.intake.checking.numbers import other_numbers
from rota.intake.errors import InputError
from rota.intake.forms.jobs import SubmittedForm
from rota.intake.submissions import read_submission
from rota.model.run import JobSpec

pytestmark = pytest.mark.covers("first-6")


def read(**job: Any) -> JobSpec:
    return read_submission(json.encode({"jobs": [{"command": "true", **job}]}), "p", "u").entries[0].spec


def refusal(**job: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(**job)
    return caught.value


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"resources": {"cpus": 2}}, {"resources": {"cpu": 2}}),
        ({"resource": {"cpu": 2}}, {"resources": {"cpu": 2}}),
        ({"cpus": 2}, {"resources": {"cpu": 2}}),
        ({"cpu": 2, "memory": "1Gi"}, {"resources": {"cpu": 2, "memory": "1Gi"}}),
        ({"cpu": 2, "resources": {"memory": "1Gi"}}, {"resources": {"cpu": 2, "memory": "1Gi"}}),
        ({"gpu": 1}, {"gpus": 1}),
        ({"label": {"a": "b"}}, {"labels": {"a": "b"}}),
        ({"output": "a.txt"}, {"outputs": ["a.txt"]}),
        ({"output": ["a.txt", "b.txt"]}, {"outputs": ["a.txt", "b.txt"]}),
        ({"task": 3}, {"tasks": 3}),
        ({"pool": "gpu"}, {"pools": ["gpu"]}),
        ({"group": [{"task": 2, "cpu": 1}]}, {"groups": [{"tasks": 2, "resources": {"cpu": 1}}]}),
        ({"queues": "night"}, {"queue": "night"}),
        ({"priorities": "high"}, {"priority": "high"}),
    ],
)
def test_they_are_the_same(given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert read(**given) == read(**meant)


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ({"gpu": 1, "gpus": 1}, 'jobs[0].gpus: "gpu" and "gpus" are the same field; give one'),
        ({"cpu": 1, "cpus": 1}, 'jobs[0].cpus: "cpu" and "cpus" are the same field; give one'),
        (
            {"cpus": 1, "resources": {"cpu": 1}},
            'jobs[0].cpu: "resources.cpu" and "cpu" are the same field; give one',
        ),
        (
            {"resources": {"cpu": 1, "cpus": 1}},
            'jobs[0].resources.cpus: "cpu" and "cpus" are the same resource; give one',
        ),
    ],
)
def test_one_of_them_is_enough(job: dict[str, Any], told: str) -> None:
    assert str(refusal(**job)) == told


def test_what_is_unknown_stays_unknown() -> None:
    assert "unknown field" in str(refusal(colour="red"))


def test_no_field_is_the_other_number_of_another() -> None:
    fields = set(SubmittedForm.__struct_fields__)
    assert not {other for name in fields for other in other_numbers(name)} & fields
