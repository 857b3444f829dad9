from __future__ import annotations

import pytest

from rota.backends.backend import TaskStart
from rota.backends.kubernetes.resources import binary, runner_resources
from rota.model.resources import Resources
from tests.unit.backends.kubernetes.starts import OPTIONS, start

pytestmark = pytest.mark.covers("pod-4")

GI = 1 << 30


@pytest.mark.parametrize(
    "task, requests, limits",
    [
        (start(), {"cpu": "250m", "memory": "512Mi"}, {"cpu": "1000m", "memory": "2Gi"}),
        (
            start(requests=Resources(4000, 3 * GI)),
            {"cpu": "4000m", "memory": "3Gi"},
            {"cpu": "4000m", "memory": "3Gi"},
        ),
        (
            start(limits=Resources(100, GI // 4)),
            {"cpu": "100m", "memory": "256Mi"},
            {"cpu": "100m", "memory": "256Mi"},
        ),
        (
            start(requests=Resources(2000, 4 * GI), limits=Resources(8000, 16 * GI), gpus=1),
            {"cpu": "2000m", "memory": "4Gi", "nvidia.com/gpu": "1"},
            {"cpu": "8000m", "memory": "16Gi", "nvidia.com/gpu": "1"},
        ),
        (
            start(requests=Resources(1, 1000, 5 * GI, extended=(("example.com/fpga", 2),))),
            {"cpu": "1m", "memory": "1000", "ephemeral-storage": "5Gi", "example.com/fpga": "2"},
            {"cpu": "1000m", "memory": "2Gi", "ephemeral-storage": "5Gi", "example.com/fpga": "2"},
        ),
    ],
)
def test_what_is_asked_for_or_the_defaults(
    task: TaskStart, requests: dict[str, str], limits: dict[str, str]
) -> None:
    assert runner_resources(task, OPTIONS) == {"requests": requests, "limits": limits}


@pytest.mark.parametrize(
    "size_bytes, text",
    [(0, "0"), (1, "1"), (1 << 10, "1Ki"), (3 << 20, "3Mi"), (10 * GI, "10Gi"), (GI + 1, "1073741825")],
)
def test_sizes(size_bytes: int, text: str) -> None:
    assert binary(size_bytes) == text
