"""Only certain models of GPU."""

from typing import Any

import pytest

from rota.plugins.gpu_model import GpuModelFilter, OtherGpuModel
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-2")

MODELS = Cluster().node("a", gpus=1, gpu_model="A100").node("h", gpus=1, gpu_model="H100").node("none")


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ({"gpu": 1}, ["a", "h", "none"]),
        ({"gpu": 1, "gpu_models": ["H100"]}, ["h"]),
        ({"gpu": 0.5, "gpu_models": ["H100", "A100"]}, ["a", "h"]),
        ({"gpu": 1, "gpu_models": ["B200"]}, []),
        ({"gpu_models": ["H100"]}, ["a", "h", "none"]),
    ],
)
def test_a_gpu_task_gets_a_model_that_will_do(words: dict[str, Any], passes: list[str]) -> None:
    assert Judged(GpuModelFilter(), MODELS, **words).passes == passes


def test_the_reason_names_the_models() -> None:
    judged = Judged(GpuModelFilter(), MODELS, gpu=1, gpu_models=["H100", "B200"])
    assert judged.reasons["a"] == [OtherGpuModel(("H100", "B200"))]


NVIDIA = (
    Cluster()
    .node("h", gpus=1, gpu_model="NVIDIA H200")
    .node("a", gpus=1, gpu_model="NVIDIA A100-SXM4-40GB")
    .node("none")
)


@pytest.mark.covers("decide-16")
@pytest.mark.parametrize(
    ("models", "passes"),
    [(["h200"], ["h"]), (["A100", "H200"], ["a", "h"]), (["NVIDIA H200"], ["h"]), (["H20"], [])],
)
def test_a_model_is_found_by_its_short_name(models: list[str], passes: list[str]) -> None:
    assert sorted(Judged(GpuModelFilter(), NVIDIA, gpu=1, gpu_models=models).passes) == passes
