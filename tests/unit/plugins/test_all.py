"""The built-in rules together: each has its name in the list, and none contradicts itself."""

import inspect
import random
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import rota.plugins
from rota.engine.plugin import NodeFilter, NodeScore
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector
from rota.model.task import VolumeNodes, VolumeTrouble
from rota.plugins import FILTERS, SCORES
from rota.plugins.images import ImageScore
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged, rated


def test_every_rule_that_is_written_is_used() -> None:
    written = {
        name
        for module in iter_modules(rota.plugins.__path__)
        for name, found in inspect.getmembers(import_module(f"rota.plugins.{module.name}"), inspect.isclass)
        if name.endswith(("Filter", "Score")) and found.__module__.startswith("rota.plugins.")
    }
    assert {type(one).__name__ for one in (*FILTERS, *SCORES)} == written


def nodes(chance: random.Random) -> Cluster:
    cluster = Cluster()
    for number in range(chance.randrange(1, 7)):
        cluster = cluster.node(
            f"n{number}",
            cpu=chance.randrange(9),
            gpus=chance.randrange(3),
            gpu_model=chance.choice(["", "A100"]),
            backend=chance.choice(["kube", "local"]),
            pool=chance.choice(["default", "p"]),
            labels=chance.choice([{}, {"disk": "ssd"}, {"disk": "hdd"}]),
            taints=chance.choice([[], ["x=1:NoSchedule"], ["x:NoExecute", "y:PreferNoSchedule"]]),
            price=chance.randrange(3),
            ready=chance.random() < 0.8,
            cordoned=chance.random() < 0.2,
            memory="4Gi",
            others=chance.choice(["0", "1Gi", "4Gi"]),
        )
    return cluster.offer("o", limit=chance.randrange(2), cpu=4, price=1)


SSD = NodeTerm(Selector((Requirement("disk", Operator.IN, ("ssd",)),)))


def task_words(chance: random.Random) -> dict[str, Any]:
    return {
        "cpu": chance.randrange(3),
        "gpu": chance.choice([0, 1, 0.5]),
        "gpu_models": chance.choice([[], ["A100"]]),
        "selector": chance.choice([{}, {"disk": "ssd"}]),
        "requires": chance.choice([[], ["disk NotIn ssd"], ["disk Exists"]]),
        "prefers": chance.choice(["disk In ssd", "none Exists"]),
        "tolerates": chance.choice([[], ["x"], ["x=1:NoSchedule"], ["*"]]),
        "spec": {
            "pools": chance.choice([(), ("p",)]),
            "backends": chance.choice([(), ("kube",)]),
            "node_name": chance.choice(["", "n0"]),
            "near": chance.choice([(), (("host", "n1"),)]),
            "max_price_micro_per_hour": chance.choice([None, 400_000]),
            "volume_nodes": chance.choice(
                [(), (VolumeNodes(()),), (VolumeNodes((SSD,), VolumeTrouble.ZONE),)]
            ),
            "node_gpu_models": chance.choice([(), ("a100",)]),
        },
    }


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: type(rule).__name__)
def test_what_a_filter_refuses_is_what_does_not_pass(rule: NodeFilter) -> None:
    chance = random.Random(1)
    refused = 0
    for _ in range(25):
        refused += len(Judged(rule, nodes(chance), **task_words(chance)).reasons)
    assert refused


# What images make of nodes has a test of its own: these nodes have none.
OF_THESE_NODES = [one for one in SCORES if not isinstance(one, ImageScore)]


@pytest.mark.covers("decide-7")
@pytest.mark.parametrize("rule", OF_THESE_NODES, ids=lambda rule: type(rule).__name__)
def test_what_a_score_gives_is_between_none_and_all(rule: NodeScore) -> None:
    chance = random.Random(2)
    seen: set[int] = set()
    for _ in range(25):
        seen.update((rated(rule, nodes(chance), **task_words(chance)) or {}).values())
    assert {0, 1000} <= seen <= set(range(1001))
