"""What node a job waits for, in words."""

from __future__ import annotations

import pytest

from rota.views.needed_node import needed_node_text
from tests.words import job

pytestmark = pytest.mark.covers("decide-17")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"cpu": 64, "memory": "512Gi"}, "a node with 64 cpu, 512Gi memory"),
        (
            {"cpu": 1, "gpu": 8, "gpu_models": ["H200", "H100"]},
            "a node with 1 cpu, 8 gpu, model H200 or H100",
        ),
        ({"cpu": 1, "selector": {"disk": "ssd"}}, "a node with 1 cpu, label disk=ssd"),
        (
            {"cpu": 1, "requires": ["zone In a,b"], "spec": {"pools": ("p",)}},
            "a node with 1 cpu, where zone In a,b, in pool p",
        ),
        (
            {"cpu": 2, "tasks": 3, "spec": {"exclusive": True}},
            "a node with 2 cpu, for itself, for each of 3 tasks; 3 tasks start together",
        ),
        ({"cpu": 2, "tasks": 3, "min_available": 1}, "a node with 2 cpu, for each of 3 tasks"),
    ],
)
def test_words(words: dict[str, object], expected: str) -> None:
    assert needed_node_text(job("j", words)) == expected  # type: ignore[arg-type]
