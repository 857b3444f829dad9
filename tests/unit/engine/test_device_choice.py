"""What plugins are told before a cycle, and the GPUs that they choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rota.engine.plugin import Plugin, Plugins, StateView, TaskView
from rota.model.plan import PluginFault
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy
from rota.model.task import TaskSpec
from rota.plugins import FILTERS, SCORES
from rota.snapshot.nodes import NodeColumns
from tests.builders import Cluster, Planned
from tests.words import task

pytestmark = pytest.mark.covers("decide-10")

Choice = Callable[[TaskView, StateView, int], Any]


def planned(cluster: Cluster, plugin: type[Plugin]) -> Planned:
    policy = Policy((SchedulerPolicy(plugins=(PluginConfig("p"),)),))
    return cluster.plan(policy, plugins=Plugins(FILTERS, SCORES, {"p": plugin}))


def chooser(choice: Choice) -> type[Plugin]:
    return type("Chooser", (Plugin,), {"choose_devices": lambda self, *asked: choice(*asked)})


def faults(plan: Planned) -> list[PluginFault]:
    return list(plan.plan.faults)


NODE = Cluster().node("a", cpu=8, gpus=4)


class TestDevices:
    def test_a_fraction_goes_where_the_plugin_wants_it(self) -> None:
        plan = planned(NODE.job("j", gpu=0.3), chooser(lambda task, state, at: (2,)))
        assert plan.devices("j") == [(2,)]

    def test_whole_ones_do_too(self) -> None:
        plan = planned(NODE.job("j", gpu=2), chooser(lambda task, state, at: (3, 1)))
        assert plan.devices("j") == [(3, 1)]

    def test_each_of_many_equal_tasks_is_asked_about(self) -> None:
        emptiest = chooser(lambda task, state, at: (int(state.gpu_free[at].argmax()),))
        plan = planned(NODE.job("j", gpu=0.3, tasks=4), emptiest)
        assert plan.devices("j") == [(0,), (1,), (2,), (3,)]

    def test_without_an_answer_rota_chooses(self) -> None:
        plan = planned(NODE.job("j", gpu=0.3), chooser(lambda task, state, at: None))
        assert (plan.devices("j"), faults(plan)) == ([(0,)], [])

    def test_tasks_without_gpu_are_none_of_its_business(self) -> None:
        plan = planned(NODE.job("j", cpu=1), chooser(lambda task, state, at: 1 // 0))
        assert (plan.places("j"), faults(plan)) == (["a"], [])

    @pytest.mark.parametrize(
        ("choice", "error"),
        [
            (lambda task, state, at: 1 // 0, "ZeroDivisionError"),
            (lambda task, state, at: [1], "a tuple of device numbers"),
            (lambda task, state, at: (1.0,), "a tuple of device numbers"),
            (lambda task, state, at: (1, 2), "1 different devices"),
            (lambda task, state, at: (), "1 different devices"),
            (lambda task, state, at: (4,), "device 4 has no room"),
            (lambda task, state, at: (-1,), "device -1 has no room"),
            (lambda task, state, at: (0,), "device 0 has no room"),
        ],
    )
    def test_a_bad_answer_harms_nobody(self, choice: Choice, error: str) -> None:
        cluster = NODE.running("r", on=["a"], gpu=0.8, devices=[(0,)]).job("j", gpu=0.3)
        plan = planned(cluster, chooser(choice))
        assert plan.devices("j") == [(1,)]
        [fault] = faults(plan)
        assert fault.call == "choose_devices"
        assert error in fault.error


class TestPrepare:
    def test_it_is_told_what_runs_and_waits(self) -> None:
        told: list[dict[TaskSpec, int]] = []

        class Listener(Plugin):
            def prepare(self, kinds: Sequence[tuple[TaskSpec, int]], nodes: NodeColumns) -> None:
                told.append(dict(kinds))
                assert nodes.names == ("a",)

            def score(self, task: TaskView, node: object) -> int:
                return 0

        cluster = NODE.running("r", on=["a", "a"], cpu=1).job("i", cpu=1).job("j", gpu=0.3, tasks=3)
        planned(cluster, Listener)
        assert told == [{task({"cpu": 1}): 3, task({"gpu": 0.3}): 3}]

    def test_one_that_cannot_prepare_has_no_say(self) -> None:
        class Unready(Plugin):
            def prepare(self, kinds: Sequence[tuple[TaskSpec, int]], nodes: NodeColumns) -> None:
                raise RuntimeError("out of order")

            def filter(self, task: TaskView, node: object) -> str:
                return "no"

        plan = planned(NODE.job("j", cpu=1), Unready)
        assert plan.places("j") == ["a"]
        [fault] = faults(plan)
        assert (fault.call, fault.error) == ("prepare", "RuntimeError: out of order")
