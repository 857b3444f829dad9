"""What a job asks for, in a line."""

from typing import Any

import pytest

from rota.cli.jobs.asked_for import asked_for_text

pytestmark = pytest.mark.covers("decide-15")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"resources": {"cpu": "1", "memory": "256Mi"}, "limits": {"memory": "none"}},
            "1 cpu, 256Mi memory",
        ),
        (
            {"resources": {"memory": "1Gi", "cpu": "0.5"}, "limits": {"cpu": "2", "memory": "1Gi"}},
            "0.5 cpu (up to 2), 1Gi memory",
        ),
        ({"resources": {"cpu": 0, "memory": 0, "example.com/fpga": 2}}, "2 example.com/fpga"),
        ({"gpus": 2}, "2 gpu"),
        ({"gpus": {"share": "0.3", "models": ["A100", "H200"]}}, "0.3 gpu (A100 or H200)"),
        ({"gpus": {"count": 2}}, "2 gpu"),
        ({}, "nothing"),
        (
            {"groups": [{"tasks": 1, "resources": {"cpu": "4"}}, {"tasks": 8, "resources": {"cpu": "1"}}]},
            "1 task of 4 cpu; 8 tasks of 1 cpu",
        ),
    ],
)
def test_what_it_asks_for(spec: dict[str, Any], text: str) -> None:
    assert asked_for_text(spec) == text
