"""Only nodes with certain models of GPU, whatever the task takes of it."""

from collections.abc import Sequence

import pytest

from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.node_gpu import NodeGpuFilter
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-2", "kube-3")

MODELS = (
    Cluster()
    .node("a", gpu_model="NVIDIA-A100-SXM4-40GB")
    .node("h", gpu_model="NVIDIA-H200")
    .node("m", gpu_model="A100-SXM4-40GB-MIG-1g.5gb")
    .node("none")
)


@pytest.mark.parametrize(
    ("models", "passes"),
    [
        ((), ["a", "h", "m", "none"]),
        (["h200"], ["h"]),
        (["NVIDIA H200", "A100"], ["a", "h"]),
        (["B200"], []),
    ],
)
def test_a_node_has_one_of_the_models(models: Sequence[str], passes: list[str]) -> None:
    assert Judged(NodeGpuFilter(), MODELS, spec={"node_gpu_models": tuple(models)}).passes == passes


def test_who_is_refused_reads_which_models_would_do() -> None:
    judged = Judged(NodeGpuFilter(), MODELS, spec={"node_gpu_models": ("H200",)})
    assert judged.reasons == {name: [OtherGpuModel(("H200",))] for name in ("a", "m", "none")}
