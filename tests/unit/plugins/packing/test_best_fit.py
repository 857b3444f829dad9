from __future__ import annotations

from rota.plugins.packing.best_fit import BestFitGpu
from tests.builders import Cluster
from tests.unit.plugins.packing.asking import Asked


def test_the_score_is_what_is_used_of_a_large_node_in_whole_percents() -> None:
    cluster = (
        Cluster().node("full", cpu=128, gpus=8).node("small", cpu=4, gpus=1).node("huge", cpu=999, gpus=8)
    )
    scores = Asked(BestFitGpu({}), cluster, cpu=4, gpu=1).scores()
    assert scores == {"full": 7, "small": 100, "huge": 0}
