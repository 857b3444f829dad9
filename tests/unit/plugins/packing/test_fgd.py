"""FGD against the definition, written out."""

from __future__ import annotations

from math import exp, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.plugins.packing.fgd import FragmentationGradient, typical
from rota.plugins.packing.mix import Mix, format_mix
from tests.builders import Cluster
from tests.unit.plugins.packing.asking import Asked, mix
from tests.words import TaskWords

MIX = mix(
    (40, {"cpu": 3, "gpu": 0.8}),
    (30, {"cpu": 11, "gpu": 1}),
    (15, {"cpu": 12}),
    (10, {"cpu": 8, "gpu": 0.47, "gpu_models": ["A"]}),
    (4, {"cpu": 60, "gpu": 4}),
    (1, {"cpu": 1, "gpu": 0.1}),
)


def fragmentation(left: list[int], cpu: int, model: str, of: Mix) -> float:
    """F(n) of the paper, term by term."""
    sums = [0.0] * 6
    for kind, weight in typical(of):
        fitting = [one for one in left if one >= kind.share_milli]
        enough_gpu, enough_cpu = len(fitting) >= kind.gpus, cpu >= kind.cpu_milli
        if not kind.gpus:
            sums[3 if enough_cpu else 4] += weight * sum(left)
        elif kind.models and model not in kind.models.split("|"):
            sums[5] += weight * sum(left)
        elif enough_gpu and enough_cpu:
            sums[1] += weight * sum(one for one in left if one < kind.share_milli)
        else:
            sums[2 if enough_gpu else 1 if enough_cpu else 0] += weight * sum(left)
    return sum(sums)


def slow_score(
    left: list[int], cpu: int, model: str, ask: TaskWords, of: Mix
) -> tuple[int, tuple[int, ...] | None]:
    asked, share = ask.get("gpu", 0), round(1000 * ask.get("gpu", 0))
    before, cpu_after = fragmentation(left, cpu, model, of), cpu - round(1000 * ask.get("cpu", 0))

    def score(after: list[int]) -> int:
        gain = before - fragmentation(after, cpu_after, model, of)
        return floor(100 / (1 + exp(-gain / 1000)))

    if not 0 < asked < 1:
        idle = [at for at, one in enumerate(left) if one == 1000][: int(asked)]
        return score([0 if at in idle else one for at, one in enumerate(left)]), None
    best, device = -1, -1
    for at, one in enumerate(left):
        if one >= share:
            found = score([*left[:at], one - share, *left[at + 1 :]])
            if found > best:
                best, device = found, at
    return best, (device,)


@pytest.mark.parametrize(
    "ask",
    [{"cpu": 3, "gpu": 0.3}, {"cpu": 2, "gpu": 0.8}, {"cpu": 5, "gpu": 1}, {"cpu": 9, "gpu": 2}, {"cpu": 6}],
)
@given(
    used=st.lists(st.sampled_from([0, 0, 10, 30, 47, 80]), min_size=1, max_size=8),
    cpu=st.integers(10, 70),
    model=st.sampled_from(["A", "B"]),
)
def test_score_and_device_are_those_of_the_definition(
    ask: TaskWords, used: list[int], cpu: int, model: str
) -> None:
    cluster = Cluster().node("n", cpu=cpu, gpus=len(used), gpu_model=model)
    for device, percent in enumerate(used):
        if percent:
            cluster = cluster.running(f"r{device}", on=["n"], gpu=percent / 100, devices=[(device,)])
    asked = Asked(FragmentationGradient({"mix": format_mix(MIX)}), cluster, **ask)
    left = [1000 - 10 * percent for percent in used]
    share, count = round(1000 * min(ask.get("gpu", 0), 1)), max(1, int(ask.get("gpu", 0)))
    if sum(one >= share for one in left) < count:
        assert asked.scores() == {"n": 0}
        return
    score, devices = slow_score(left, 1000 * cpu, model, ask, MIX)
    assert asked.scores() == {"n": score}
    assert asked.devices("n") == devices


def test_typical_tasks_are_the_most_frequent_that_make_95_percent() -> None:
    found = typical(MIX)
    assert [kind.cpu_milli for kind, _ in found] == [3000, 11000, 12000, 8000]
    assert sum(weight for _, weight in found) == pytest.approx(1)


def test_without_a_setting_it_learns_from_what_runs_and_waits() -> None:
    plugin = FragmentationGradient({})
    asked = Asked(plugin, Cluster().node("n", cpu=8, gpus=2), gpu=0.5)
    plugin.prepare([(asked.task.spec, 1)], asked.nodes)
    # An idle GPU holds two such tasks: nothing is lost, and half a GPU remains of use.
    assert asked.scores() == {"n": 50}
