"""Rota's packing: worth is lost where the best packing wouldn't go."""

from __future__ import annotations

from typing import Unpack

from rota.engine.plugin import Plugins
from rota.model.policy import Policy, SchedulerPolicy, Selection, Strategy, Weights
from rota.plugins import FILTERS, NAMED, SCORES
from rota.plugins.packing.gpu_packing import GpuPacking
from rota.plugins.packing.mix import Mix, format_mix
from tests.builders import Cluster
from tests.unit.plugins.packing.asking import Asked, mix
from tests.words import TaskWords

PAIRS = mix((100, {"cpu": 4, "gpu": 0.65}), (100, {"cpu": 4, "gpu": 0.32}), (100, {"cpu": 4, "gpu": 0.47}))


def asked(cluster: Cluster, of: Mix, **words: Unpack[TaskWords]) -> Asked:
    return Asked(GpuPacking({"mix": format_mix(of)}), cluster, **words)


def best(scores: dict[str, int]) -> str:
    return max(sorted(scores), key=lambda name: scores[name])


def test_a_share_goes_to_its_partner() -> None:
    nodes = Cluster().nodes("idle half large", cpu=64, gpus=1)
    cluster = nodes.running("a", on=["half"], cpu=4, gpu=0.47).running("b", on=["large"], cpu=4, gpu=0.65)
    assert best(asked(cluster, PAIRS, cpu=4, gpu=0.32).scores()) == "large"
    assert best(asked(cluster, PAIRS, cpu=4, gpu=0.47).scores()) == "half"
    assert best(asked(cluster, PAIRS, cpu=4, gpu=0.65).scores()) == "idle"


def test_the_gpu_within_the_node_is_chosen_by_the_same_rule() -> None:
    node = Cluster().node("n", cpu=64, gpus=4)
    cluster = node.running("a", on=["n"], gpu=0.47, devices=[(1,)]).running(
        "b", on=["n"], gpu=0.65, devices=[(2,)]
    )
    assert asked(cluster, PAIRS, cpu=4, gpu=0.32).devices("n") == (2,)
    assert asked(cluster, PAIRS, cpu=4, gpu=0.47).devices("n") == (1,)
    assert asked(cluster, PAIRS, cpu=4, gpu=0.65).devices("n") == (0,)
    assert asked(cluster, PAIRS, cpu=4, gpu=1).devices("n") is None


def test_room_for_tasks_of_many_gpus_is_kept() -> None:
    of = mix((100, {"cpu": 4, "gpu": 1}), (20, {"cpu": 32, "gpu": 8}))
    cluster = Cluster().nodes("begun whole", cpu=64, gpus=8).running("a", on=["begun"], cpu=4, gpu=1)
    assert best(asked(cluster, of, cpu=4, gpu=1).scores()) == "begun"


def test_cpu_is_taken_where_gpus_have_more_than_they_need() -> None:
    of = mix((100, {"cpu": 12, "gpu": 1}), (50, {"cpu": 16}))
    cluster = Cluster().node("lean", cpu=72, gpus=8).node("rich", cpu=96, gpus=2)
    assert best(asked(cluster, of, cpu=16).scores()) == "rich"
    assert best(asked(cluster, of, cpu=2, gpu=1).scores()) == "lean"


def test_a_model_that_others_insist_on_is_spared() -> None:
    of = mix((50, {"cpu": 4, "gpu": 1, "gpu_models": ["A"]}), (50, {"cpu": 4, "gpu": 1}))
    cluster = Cluster().node("a", cpu=64, gpus=4, gpu_model="A").node("b", cpu=64, gpus=4, gpu_model="B")
    assert best(asked(cluster, of, cpu=4, gpu=1).scores()) == "b"


def test_a_cluster_without_gpus_is_none_of_its_business() -> None:
    scores = asked(Cluster().nodes("a b", cpu=8), mix((1, {"cpu": 1})), cpu=1).scores()
    assert scores["a"] == scores["b"]


def test_a_policy_names_it_without_an_installation() -> None:
    """Without a setting, what runs and waits is the mix: the pair shares a GPU."""
    selection = Selection(Strategy.CUSTOM, "gpu-packing")
    policy = Policy((SchedulerPolicy(selection=selection, weights=Weights(utilisation=40, load=0)),))
    cluster = Cluster().nodes("a b c", cpu=64, gpus=1)
    for name, share in (("x", 0.47), ("y", 0.65), ("z", 0.32)):
        cluster = cluster.job(name, cpu=4, gpu=share)
    plan = cluster.plan(policy, plugins=Plugins(FILTERS, SCORES, NAMED))
    assert plan.places("y") == plan.places("z") != plan.places("x")
    assert plan.plan.faults == ()
