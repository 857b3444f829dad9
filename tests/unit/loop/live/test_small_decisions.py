"""Only what is decided at once is decided in the event loop."""

from __future__ import annotations

import pytest

from rota.loop.live.small_decisions import (
    MOST_LANES,
    MOST_NODES,
    MOST_RUNNING,
    MOST_WAITING,
    has_plugins,
    is_small,
)
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy
from rota.snapshot import snapshot_of
from tests.builders import Cluster
from tests.words import apart, lie, spread


def cluster(nodes: int = 1, running: int = 0, lanes: int = 0) -> Cluster:
    made = Cluster()
    for number in range(nodes):
        made = made.node(f"n{number}", cpu=8)
    for number in range(running):
        made = made.running(f"r{number}", on=["n0"], cpu=1)
    for number in range(lanes):
        made = made.job(f"j{number}", cpu=1 + number)
    return made


@pytest.mark.covers("trust-1")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (cluster().job("j", cpu=1), True),
        (cluster(MOST_NODES, MOST_RUNNING, MOST_LANES), True),
        (cluster().job("j", tasks=MOST_WAITING, cpu=1), True),
        (cluster(MOST_NODES + 1), False),
        (cluster(1, MOST_RUNNING + 1), False),
        (cluster(1, 0, MOST_LANES + 1), False),
        (cluster().job("j", tasks=MOST_WAITING + 1, cpu=1), False),
        (cluster().job("j", cpu=1, affinity=[apart("host", "a In b")]), False),
        (cluster().job("j", cpu=1, spread=[spread("host", "a In b")]), False),
        (cluster().job("j", tasks=2, cpu=1, topology=[lie("zone", "same")]), False),
        (cluster().running("r", on=["n0"], affinity=[apart("host", "a In b")]), False),
    ],
)
def test_few_of_everything_and_no_rules_about_others(given: Cluster, expected: bool) -> None:
    assert is_small(snapshot_of(given.records)) is expected


def test_what_comes_from_outside_may_take_long() -> None:
    assert not has_plugins(Policy())
    scheduler = SchedulerPolicy(name="s", plugins=(PluginConfig("slow"),))
    assert has_plugins(Policy(schedulers=(scheduler,)))
