"""PodGroups of other schedulers, and gangs whose size they say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rota.kube.api.decoding import Unreadable
from rota.kube.api.objects import PodGroup
from rota.kube.mirror.reasons import GangIncomplete, GangOthersFirst, PodGroupMissing, PodGroupUnusable
from rota.kube.scheduling.words import held_text
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import JobId, NodeName, TaskName
from tests.unit.kube.mirror.pod_groups import group
from tests.unit.kube.pods import Told, node, pod

pytestmark = pytest.mark.covers("kube-2")

P = TaskName("default/p")
PLUGIN = "podgroups.scheduling.x-k8s.io/g"
VOLCANO = "podgroups.scheduling.volcano.sh/g"


@pytest.fixture
def told() -> Told:
    made = Told()
    made.mirror.node_changed(None, node("n", cpu="8"))
    return made


def labelled(name: str, **more: Any) -> Pod:
    return _with(pod(name, **more), labels={"scheduling.x-k8s.io/pod-group": "g"})


def annotated(name: str, role: str = "", key: str = "scheduling.k8s.io/group-name", **more: Any) -> Pod:
    annotations = {key: "g"} | ({"volcano.sh/task-spec": role} if role else {})
    return _with(pod(name, **more), annotations=annotations)


def _with(one: Pod, **metadata: Any) -> Pod:
    return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, **metadata))


def waiting(told: Told) -> set[str]:
    """Pods that are decided about."""
    told.mirror.settle(0.0)
    records = told.mirror.state.records().jobs
    return {one.job.task_name(rank).partition("/")[2] for one in records for rank in one.waiting_ranks()}


def hold_text(told: Told, name: TaskName = P) -> str:
    return held_text(told.mirror.holds[name], told.mirror.node_count)


class TestPluginGroups:
    def test_its_pods_start_together(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(2))
        told.add(labelled("p"))
        assert waiting(told) == set()
        assert told.mirror.holds == {P: GangIncomplete(PLUGIN, 1, 2)}
        told.add(labelled("q"))
        assert waiting(told) == {"p", "q"}
        (record,) = told.mirror.state.records().jobs
        assert (record.job.id, record.job.template.min_count) == (f"default/gang:{PLUGIN}", 2)

    def test_one_that_isnt_there_is_waited_for(self, told: Told) -> None:
        told.add(labelled("p"), pod("alone"))
        assert waiting(told) == {"alone"}
        assert told.mirror.holds == {P: PodGroupMissing(PLUGIN)}
        assert PLUGIN in hold_text(told)
        told.times = 0
        told.mirror.pod_groups.plugin_group(None, group(1))
        assert told.times == 1
        assert waiting(told) == {"p", "alone"}

    def test_another_size_counts_at_once(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(3))
        told.add(labelled("p"), labelled("q"))
        assert waiting(told) == set()
        told.mirror.pod_groups.plugin_group(group(3), group(2))
        assert waiting(told) == {"p", "q"}

    def test_news_that_say_the_same_are_none(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(1))
        told.add(labelled("p"))
        told.times = 0
        told.mirror.pod_groups.plugin_group(group(1), group(1))
        assert told.times == 0

    def test_when_it_goes_those_that_run_are_still_counted(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(1))
        told.add(labelled("p", node="n"), labelled("q"))
        told.mirror.settle(0.0)
        told.mirror.pod_groups.plugin_group(group(1), None)
        assert waiting(told) == set()
        assert told.mirror.state.running_count == 1
        assert told.mirror.holds == {TaskName("default/q"): PodGroupMissing(PLUGIN)}

    def test_a_pods_own_label_goes_before(self, told: Told) -> None:
        one = pod("p", gang="mine", least="1")
        labels = {**(one.metadata.labels or {}), "scheduling.x-k8s.io/pod-group": "g"}
        told.add(_with(one, labels=labels))
        assert waiting(told) == {"p"}

    def test_pods_of_other_schedulers_are_none_of_ours(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(2))
        told.add(labelled("p", node="n", scheduler="another"), labelled("q"))
        told.mirror.settle(0.0)
        assert told.mirror.holds == {TaskName("default/q"): GangIncomplete(PLUGIN, 1, 2)}

    @pytest.mark.covers("kube-7")
    @pytest.mark.parametrize(
        "size, problem",
        [(group(-1), "its minMember is -1"), (group(3, ps=-2), "its minTaskMember of ps is -2")],
    )
    def test_a_size_that_cant_be(self, told: Told, size: PodGroup, problem: str) -> None:
        told.mirror.pod_groups.plugin_group(None, size)
        told.add(labelled("p"))
        assert waiting(told) == set()
        assert problem in hold_text(told)

    @pytest.mark.covers("kube-7")
    def test_one_that_cant_be_read(self, told: Told) -> None:
        metadata = Metadata(name="g", namespace="default")
        told.mirror.pod_groups.unreadable_plugin_group(Unreadable(metadata, "minMember is a text"))
        told.add(labelled("p"))
        assert waiting(told) == set()
        assert told.mirror.holds == {P: PodGroupUnusable(PLUGIN, "minMember is a text")}

    def test_without_a_size_each_pod_starts_as_it_comes(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group())
        told.add(labelled("p"))
        assert waiting(told) == {"p"}


class TestVolcanoGroups:
    @pytest.mark.parametrize("key", ["scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"])
    def test_is_named_by_an_annotation(self, told: Told, key: str) -> None:
        told.mirror.pod_groups.volcano_group(None, group(2))
        told.add(annotated("p", key=key))
        assert waiting(told) == set()
        assert told.mirror.holds == {P: GangIncomplete(VOLCANO, 1, 2)}

    def test_isnt_the_plugins_group_of_that_name(self, told: Told) -> None:
        told.mirror.pod_groups.plugin_group(None, group(1))
        told.add(annotated("p"))
        assert waiting(told) == set()
        assert told.mirror.holds == {P: PodGroupMissing(VOLCANO)}

    def test_so_many_of_each_task_must_be_there(self, told: Told) -> None:
        told.mirror.pod_groups.volcano_group(None, group(3, ps=1, worker=2))
        told.add(*(annotated(f"w{number}", "worker") for number in range(3)))
        assert waiting(told) == set()
        name = TaskName("default/w0")
        assert hold_text(told, name) == f"gang {VOLCANO}: 0 of 1 ps pods present; they start together"

    def test_those_that_must_start_together_come_first(self, told: Told) -> None:
        told.mirror.pod_groups.volcano_group(None, group(3, ps=1, worker=2))
        told.add(annotated("ps", "ps"), *(annotated(f"w{number}", "worker") for number in range(4)))
        assert waiting(told) == {"ps", "w0", "w1"}
        later = GangOthersFirst(VOLCANO)
        assert told.mirror.holds == {TaskName("default/w2"): later, TaskName("default/w3"): later}
        (record,) = told.mirror.state.records().jobs
        assert record.job.template.min_count == 3
        told.mirror.assume({TaskName(f"default/{name}"): NodeName("n") for name in ("ps", "w0", "w1")})
        assert waiting(told) == {"w2", "w3"}
        assert not told.mirror.holds

    def test_more_than_those_of_its_tasks_are_filled_up(self, told: Told) -> None:
        told.mirror.pod_groups.volcano_group(None, group(3, ps=1))
        told.add(annotated("ps", "ps"), *(annotated(f"w{number}", "worker") for number in range(4)))
        assert waiting(told) == {"ps", "w0", "w1"}

    def test_fewer_than_those_of_its_tasks_are_any(self, told: Told) -> None:
        told.mirror.pod_groups.volcano_group(None, group(2, ps=1, worker=2))
        told.add(annotated("w0", "worker"), annotated("w1", "worker"))
        assert waiting(told) == {"w0", "w1"}

    def test_bound_without_one_of_a_task_is_torn(self, told: Told) -> None:
        told.mirror.pod_groups.volcano_group(None, group(2, ps=1))
        told.add(annotated("ps", "ps"), annotated("w0", node="n"), annotated("w1", node="n"))
        told.mirror.settle(0.0)
        gang = JobId(f"default/gang:{VOLCANO}")
        assert told.mirror.torn == {gang: (TaskName("default/w0"), TaskName("default/w1"))}
