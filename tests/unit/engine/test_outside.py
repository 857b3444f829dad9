"""Plugins from outside: they filter, score, choose and are told; when they fail, only they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from rota.engine.outside import tell
from rota.engine.plugin import NodeView, Plugin, Plugins, StateView, TaskView
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Binding, PluginFault
from rota.model.policy import (
    PluginConfig,
    Policy,
    QueuePolicy,
    SchedulerPolicy,
    Selection,
    Strategy,
)
from rota.model.reasons import RefusedByPlugin
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.model.verdict import Kind, Refusal
from rota.plugins import FILTERS, SCORES
from tests.builders import Cluster, Planned

pytestmark = pytest.mark.covers("decide-10")

Answer = Callable[[TaskView, NodeView], Any]


class Scripted(Plugin):
    """Says what its class was told to say, and keeps count of what it was asked."""

    asked: list[str]


def plugin(
    filter: Answer | None = None,
    score: Answer | None = None,
    told: Callable[[Job, Sequence[Binding]], None] | None = None,
) -> type[Scripted]:
    methods: dict[str, Any] = {"asked": []}
    if filter is not None:

        def asked_to_filter(self: Scripted, task: TaskView, node: NodeView) -> Any:
            self.asked.append(f"filter {node.name}")
            return filter(task, node)

        methods["filter"] = asked_to_filter
    if score is not None:

        def asked_to_score(self: Scripted, task: TaskView, node: NodeView) -> Any:
            self.asked.append(f"score {node.name}")
            return score(task, node)

        methods["score"] = asked_to_score
    if told is not None:
        methods["on_job_scheduled"] = lambda self, job, bindings: told(job, bindings)
    return type("Scripted", (Scripted,), methods)


def fail(*_: object) -> Any:
    raise RuntimeError("out of order")


def hang(*_: object) -> Any:
    raise TimeoutError("took longer than 2 s")


def using(*configs: PluginConfig, selection: Selection = Selection()) -> Policy:  # noqa: B008 - a constant
    return Policy((SchedulerPolicy(selection=selection, plugins=configs),))


def planned(cluster: Cluster, policy: Policy, **plugins: type[Plugin]) -> Planned:
    return cluster.plan(policy, plugins=Plugins(FILTERS, SCORES, plugins))


NODES = Cluster().nodes("a b", cpu=4)
JOB = NODES.job("j", cpu=1)


class TestFilter:
    def test_a_node_that_it_refuses_is_not_taken(self) -> None:
        picky = plugin(filter=lambda task, node: "not this one" if node.name == "a" else None)
        assert planned(JOB, using(PluginConfig("picky")), picky=picky).places("j") == ["b"]

    def test_its_words_are_the_reason(self) -> None:
        picky = plugin(filter=lambda task, node: f"{node.name} is closed")
        verdict = planned(JOB, using(PluginConfig("picky")), picky=picky).waits("j")
        assert verdict.kind is Kind.NOT_NOW
        assert verdict.refusals == (
            Refusal(RefusedByPlugin("picky", "a is closed"), 1),
            Refusal(RefusedByPlugin("picky", "b is closed"), 1),
        )

    def test_it_sees_each_placement_of_the_plan(self) -> None:
        one_each = plugin(filter=lambda task, node: "taken" if node.task_count else None)
        plan = planned(NODES.job("j", cpu=1, tasks=3, min_available=1), using(PluginConfig("p")), p=one_each)
        assert plan.places("j") == ["a", "b"]

    def test_it_sees_the_job(self) -> None:
        loyal = plugin(
            filter=lambda task, node: None if task.template.project == node.labels["for"] else "no"
        )
        nodes = Cluster().node("a", cpu=4, labels={"for": "p"}).node("b", cpu=4, labels={"for": "q"})
        cluster = nodes.job("x", cpu=1, template={"project": "q"}).job("y", cpu=1, template={"project": "p"})
        plan = planned(cluster, using(PluginConfig("loyal")), loyal=loyal)
        assert (plan.places("x"), plan.places("y")) == (["b"], ["a"])

    def test_it_has_no_say_where_no_policy_names_it(self) -> None:
        never = plugin(filter=lambda task, node: "never")
        assert planned(JOB, using(), never=never).places("j") == ["a"]
        assert never.asked == []


class TestScore:
    RISING = plugin(score=lambda task, node: 1000 if node.name == "b" else 0)

    def test_its_weight_decides_how_much_it_counts(self) -> None:
        assert planned(JOB, using(PluginConfig("p", weight=50)), p=self.RISING).places("j") == ["b"]

    def test_without_a_weight_it_is_not_asked(self) -> None:
        silent = plugin(score=fail)
        plan = planned(JOB, using(PluginConfig("p")), p=silent)
        assert plan.places("j") == ["a"]
        assert (silent.asked, plan.plan.faults) == ([], ())

    def test_other_criteria_count_on(self) -> None:
        cluster = NODES.running("busy", on=["b"], cpu=3).job("j", cpu=1)
        slight, strong = using(PluginConfig("p", weight=1)), using(PluginConfig("p", weight=99))
        assert planned(cluster, slight, p=self.RISING).places("j") == ["a"]
        assert planned(cluster, strong, p=self.RISING).places("j") == ["b"]

    @pytest.mark.covers("decide-6")
    def test_as_the_selection_it_takes_the_place_of_utilisation(self) -> None:
        cluster = NODES.running("busy", on=["b"], cpu=3).job("j", cpu=1)
        custom = using(PluginConfig("p"), selection=Selection(Strategy.CUSTOM, "p"))
        assert planned(cluster, custom, p=self.RISING).places("j") == ["b"]

    @pytest.mark.covers("decide-6")
    def test_the_selection_need_not_be_named_twice(self) -> None:
        custom = using(selection=Selection(Strategy.CUSTOM, "p"))
        assert planned(JOB, custom, p=self.RISING).places("j") == ["b"]

    def test_beside_a_selection_the_others_keep_their_own_weights(self) -> None:
        silent = plugin(score=fail)
        custom = using(PluginConfig("q"), selection=Selection(Strategy.CUSTOM, "p"))
        plan = planned(JOB, custom, p=self.RISING, q=silent)
        assert (plan.places("j"), silent.asked) == (["b"], [])

    def test_a_selection_that_fails_leaves_the_choice_to_the_other_criteria(self) -> None:
        cluster = NODES.running("busy", on=["a"], cpu=1).job("j", cpu=1)
        plan = planned(cluster, using(selection=Selection(Strategy.CUSTOM, "p")), p=plugin(score=fail))
        assert plan.places("j") == ["b"]
        assert {fault.call for fault in plan.plan.faults} == {"score"}


class TestRows:
    """Plugins that look at many nodes at once."""

    def test_they_filter_and_score_like_the_others(self) -> None:
        class Rows(Plugin):
            def filter_rows(
                self, task: TaskView, state: StateView, positions: np.ndarray[Any, Any]
            ) -> np.ndarray[Any, Any]:
                return np.array([state.nodes.names[at] != "a" for at in positions])

            def score_rows(
                self, task: TaskView, state: StateView, positions: np.ndarray[Any, Any]
            ) -> np.ndarray[Any, Any]:
                return np.array([1000 if state.nodes.names[at] == "c" else 0 for at in positions])

        cluster = Cluster().nodes("a b c", cpu=1).job("j", cpu=1)
        assert planned(cluster, using(PluginConfig("rows", weight=9)), rows=Rows).places("j") == ["c"]


@pytest.mark.parametrize(
    ("broken", "call", "error"),
    [
        (plugin(filter=fail), "filter", "RuntimeError: out of order"),
        (plugin(score=fail), "score", "RuntimeError: out of order"),
        (plugin(score=lambda task, node: 1001), "score", "ValueError: scores must lie between 0 and 1000"),
        (plugin(score=lambda task, node: -1), "score", "ValueError: scores must lie between 0 and 1000"),
        (plugin(score=lambda task, node: None), "score", "TypeError"),
        (plugin(score=lambda task, node: 1 << 80), "score", "OverflowError"),
        (
            type("Short", (Plugin,), {"filter_rows": lambda *_: np.array([True])}),
            "filter",
            "ValueError: filter_rows must give one boolean a node",
        ),
        (
            type("Numbers", (Plugin,), {"filter_rows": lambda *_: np.array([1, 0])}),
            "filter",
            "ValueError: filter_rows must give one boolean a node",
        ),
        (
            type("Floats", (Plugin,), {"score_rows": lambda *_: np.array([0.5, 0.5])}),
            "score",
            "ValueError: score_rows must give one whole number a node",
        ),
        (type("Unmade", (Plugin,), {"__init__": fail}), "load", "RuntimeError: out of order"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
class TestFaults:
    def plan(self, broken: type[Plugin]) -> Planned:
        cluster = JOB.job("k", cpu=2)
        return planned(cluster, using(PluginConfig("broken", weight=10)), broken=broken)

    def test_the_plan_is_made_without_it(self, broken: type[Plugin], call: str, error: str) -> None:
        without = JOB.job("k", cpu=2).plan()
        assert self.plan(broken).plan.bindings == without.plan.bindings

    def test_it_is_reported(self, broken: type[Plugin], call: str, error: str) -> None:
        faults = self.plan(broken).plan.faults
        assert {(fault.plugin, fault.call) for fault in faults} == {("broken", call)}
        assert faults[0].error.startswith(error)


class TestOneOfSeveralFails:
    def test_the_others_keep_their_say(self) -> None:
        picky = plugin(filter=lambda task, node: "no" if node.name == "a" else None)
        both = using(PluginConfig("broken"), PluginConfig("picky"))
        plan = planned(JOB, both, broken=plugin(filter=fail), picky=picky)
        assert plan.places("j") == ["b"]
        assert [fault.plugin for fault in plan.plan.faults] == ["broken"]

    def test_one_that_is_not_installed_is_reported(self) -> None:
        plan = planned(JOB, using(PluginConfig("missing")))
        assert plan.places("j") == ["a"]
        [fault] = plan.plan.faults
        assert (fault.plugin, fault.call) == ("missing", "load")

    def test_a_fault_names_the_job_that_was_decided_on(self) -> None:
        plan = planned(JOB, using(PluginConfig("p")), p=plugin(filter=fail))
        assert plan.plan.faults[0] == PluginFault("p", "filter", "RuntimeError: out of order", JobId("j"))

    def test_the_same_fault_of_the_same_job_is_reported_once(self) -> None:
        plan = planned(NODES.job("j", cpu=1, tasks=6), using(PluginConfig("p")), p=plugin(filter=fail))
        assert len(plan.places("j")) == 6
        assert len(plan.plan.faults) == 1


class TestHanging:
    def test_it_is_not_asked_again_in_this_cycle(self) -> None:
        slow = plugin(filter=hang, score=lambda task, node: 0, told=fail)
        plan = planned(JOB.job("k", cpu=2), using(PluginConfig("slow", weight=1)), slow=slow)
        assert plan.waiting() == []
        assert slow.asked == ["filter a"]
        [fault] = plan.plan.faults
        assert (fault.call, fault.error) == ("filter", "TimeoutError: took longer than 2 s")

    def test_the_next_cycle_asks_again(self) -> None:
        slow = plugin(filter=hang)
        for _ in range(2):
            planned(JOB, using(PluginConfig("slow")), slow=slow)
        assert slow.asked == ["filter a", "filter a"]


def bound(job_id: str, namespace: str = "default") -> tuple[Job, list[Binding]]:
    template = JobTemplate((TaskGroup(TaskSpec(Resources(1000))),), namespace=namespace)
    return Job(JobId(job_id), template), [Binding(JobId(job_id), 0, NodeName("a"))]


@pytest.mark.covers("decide-18")
class TestTold:
    def test_of_no_plan(self) -> None:
        heard: list[str] = []
        listens = plugin(told=lambda job, bindings: heard.append(job.id))
        assert planned(JOB, using(PluginConfig("p")), p=listens).places("j") == ["a"]
        assert heard == []

    def test_of_each_job_with_its_bindings(self) -> None:
        heard: list[tuple[str, list[str]]] = []
        listens = plugin(told=lambda job, bindings: heard.append((job.id, [one.node for one in bindings])))
        plugins = Plugins(FILTERS, SCORES, {"p": listens})
        assert tell([bound("x"), bound("y")], using(PluginConfig("p")), plugins) == ()
        assert heard == [("x", ["a"]), ("y", ["a"])]

    def test_one_that_fails_is_reported_for_each_job(self) -> None:
        plugins = Plugins(FILTERS, SCORES, {"p": plugin(told=fail)})
        faults = tell([bound("x"), bound("y")], using(PluginConfig("p")), plugins)
        error = "RuntimeError: out of order"
        assert faults == tuple(PluginFault("p", "on_job_scheduled", error, JobId(job)) for job in "xy")

    def test_one_that_hangs_is_told_no_more(self) -> None:
        plugins = Plugins(FILTERS, SCORES, {"p": plugin(told=hang)})
        assert len(tell([bound("x"), bound("y")], using(PluginConfig("p")), plugins)) == 1

    def test_one_that_does_not_listen_is_left_alone(self) -> None:
        plugins = Plugins(FILTERS, SCORES, {"p": plugin(filter=fail)})
        assert tell([bound("x")], using(PluginConfig("p")), plugins) == ()

    @pytest.mark.covers("decide-11")
    def test_only_of_the_jobs_of_its_own_scheduler(self) -> None:
        heard: list[str] = []
        policy = Policy(
            (
                SchedulerPolicy("ours", ("ours",), plugins=(PluginConfig("p"),)),
                SchedulerPolicy("theirs", ("theirs",)),
            )
        )
        listens = plugin(told=lambda job, bindings: heard.append(job.id))
        tell([bound("a", "ours"), bound("b", "theirs")], policy, Plugins(FILTERS, SCORES, {"p": listens}))
        assert heard == ["a"]


class TestNodeView:
    def seen(self, cluster: Cluster) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def look(task: TaskView, node: NodeView) -> None:
            found[node.name] = {
                "labels": node.labels,
                "cpu": node.free("cpu"),
                "gpu": node.free("gpu"),
                "fpga": node.free("fpga"),
                "devices": node.free_devices(),
                "tasks": node.task_count,
                "price": node.spec.price_micro_per_hour,
            }

        planned(cluster.job("j", cpu=1), using(PluginConfig("p")), p=plugin(filter=look))
        return found

    def test_it_shows_what_is_left_of_a_node(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=4, gpus=2, labels={"disk": "ssd"}, price=1)
            .node("b", cpu=4, gpus=3)
            .running("r", on=["a", "a"], cpu=1, gpu=0.3, devices=[[1], [1]])
        )
        assert self.seen(cluster)["a"] == {
            "labels": {"disk": "ssd"},
            "cpu": 2000,
            "gpu": 1400,
            "fpga": 0,
            "devices": [1000, 400],
            "tasks": 2,
            "price": 1_000_000,
        }

    def test_a_task_that_has_the_node_to_itself_is_one_task(self) -> None:
        cluster = Cluster().nodes("a b", cpu=4).running("r", on=["a"], cpu=1, spec={"exclusive": True})
        assert self.seen(cluster)["a"]["tasks"] == 1


def test_what_a_plugin_is_shown_it_cannot_write_to() -> None:
    class Vandal(Plugin):
        def filter_rows(
            self, task: TaskView, state: StateView, positions: np.ndarray[Any, Any]
        ) -> np.ndarray[Any, Any]:
            state.free[:] = 10**15
            return np.ones(len(positions), np.bool_)

    plan = planned(NODES.job("j", cpu=9), using(PluginConfig("vandal")), vandal=Vandal)
    assert plan.places("j") == []
    assert {fault.plugin for fault in plan.plan.faults} == {"vandal"}


class TestBase:
    @pytest.mark.parametrize(
        ("made", "filters", "scores"),
        [
            (plugin(), False, False),
            (plugin(filter=fail), True, False),
            (plugin(score=fail), False, True),
            (type("Rows", (Plugin,), {"filter_rows": fail, "score_rows": fail}), True, True),
        ],
    )
    def test_a_method_that_is_not_overridden_is_not_called(
        self, made: type[Plugin], filters: bool, scores: bool
    ) -> None:
        one = made({})
        assert (one.filters, one.scores) == (filters, scores)

    def test_settings_reach_the_plugin(self) -> None:
        class Fussy(Plugin):
            def filter(self, task: TaskView, node: NodeView) -> str | None:
                return None if node.name == self.settings["node"] else "no"

        config = PluginConfig("fussy", settings=(("node", "b"),))
        assert planned(JOB, using(config), fussy=Fussy).places("j") == ["b"]


@pytest.mark.covers("decide-11")
def test_each_scheduler_has_its_own_plugins() -> None:
    policy = Policy(
        (
            SchedulerPolicy("one", ("x",), queues=(QueuePolicy(),), plugins=(PluginConfig("p"),)),
            SchedulerPolicy("two", ("y",)),
        )
    )
    cluster = Cluster().nodes("a b", cpu=4)
    cluster = cluster.job("i", cpu=1, template={"namespace": "x"}).job(
        "j", cpu=1, template={"namespace": "y"}
    )
    no_a = plugin(filter=lambda task, node: "no" if node.name == "a" else None)
    plan = planned(cluster, policy, p=no_a)
    assert (plan.places("i"), plan.places("j")) == (["b"], ["a"])
