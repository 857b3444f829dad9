"""Answers about one pod of a cluster that was read once."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from rota.api.jobs import EstimateDocument
from rota.kube.api.decoding import Unreadable
from rota.kube.api.objects import DisruptionBudget
from rota.kube.api.resources import BUDGETS, NODES, PODS, PRIORITY_CLASSES
from rota.kube.asking.answers import GangProgress, NoSuchPod, PodAnswer, Situation
from rota.kube.asking.questions import TIMED_PODS, LiveCluster, priority_classes
from rota.kube.asking.starts import start_of
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.read_once import read_once
from rota.kube.scheduling.run import KubeSchedulerOptions, default_policy
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.workloads import PriorityClass
from rota.kube_objects.priority import UsePriorityClass
from rota.model.changes import AskForLess, RaisePriority, StartWithFewer
from rota.model.explanation import Change, Outcome
from tests.unit.kube.pods import SCHEDULER, node, pod
from tests.unit.kube.still_cluster import StillCluster

pytestmark = pytest.mark.covers("kube-7")

NOW_MS = 1_893_456_000_000 + 60_000
"""A minute after the beginning of all pods."""


def cluster_of(*pods: Pod, nodes: dict[str, str] | None = None, unreadable: str = "") -> LiveCluster:
    still = StillCluster()
    still.add(NODES, *(node(name, cpu) for name, cpu in (nodes or {"n": "2"}).items()))
    still.add(PODS, *pods)
    if unreadable:
        broken = Unreadable(Metadata(name=unreadable, namespace="default"), "no such operator")
        still.unreadable[PODS.path()] = [broken]
    return asyncio.run(_read(still))


async def _read(still: StillCluster) -> LiveCluster:
    options = KubeSchedulerOptions()
    policy = default_policy(SCHEDULER)
    mirror = Mirror(SCHEDULER, options.gang_keys, lambda: None)
    read = await read_once(still, mirror)
    return LiveCluster(still, read, mirror, options, policy, NOW_MS, await priority_classes(still))


def proposed_priorities(still: StillCluster) -> list[Change]:
    view = why(asyncio.run(_read(still)), "waits").view
    assert view is not None
    changes = (remedy.change for remedy in view.explanation.remedies)
    return [one for one in changes if isinstance(one, UsePriorityClass | RaisePriority)]


def why(cluster: LiveCluster, name: str) -> PodAnswer:
    return asyncio.run(cluster.why(cluster.named(name, None)))


def eta(cluster: LiveCluster, name: str) -> EstimateDocument:
    return asyncio.run(start_of(cluster, cluster.named(name, None)))


def outcome(answer: PodAnswer) -> Outcome:
    assert answer.view is not None
    return answer.view.outcome


class TestNames:
    def test_a_namespace_may_be_given(self) -> None:
        assert cluster_of(pod("p")).named("p", "default") == "default/p"

    def test_one_that_isnt_there(self) -> None:
        with pytest.raises(NoSuchPod, match='no pod "p" in the namespace other; name another'):
            cluster_of(pod("p")).named("p", "other")

    def test_one_that_may_be_meant(self) -> None:
        with pytest.raises(NoSuchPod, match='did you mean "worker-1"'):
            cluster_of(pod("worker-1")).named("worker1", None)


class TestWaiting:
    def test_in_kube_schedulers_words_and_in_ours(self) -> None:
        answer = why(cluster_of(pod("p", cpu="3")), "p")
        assert (answer.situation, outcome(answer)) == (Situation.WAITING, Outcome.WAITING)
        assert answer.told.startswith("0/1 nodes are available: 1 Insufficient cpu.")
        assert answer.view is not None
        (remedy,) = answer.view.explanation.remedies
        assert isinstance(remedy.change, AskForLess)
        assert remedy.change.most == 2000

    def test_one_that_nothing_is_in_the_way_of(self) -> None:
        answer = why(cluster_of(pod("p")), "p")
        assert outcome(answer) is Outcome.PLACED
        assert (
            answer.told
            == "it can be bound to n now; if it stays so, no scheduler named batch-scheduler is running"
        )

    @pytest.mark.covers("first-5")
    def test_priorities_are_proposed_by_the_classes_of_the_cluster(self) -> None:
        still = StillCluster()
        still.add(NODES, node("n"))
        still.add(PODS, pod("runs", cpu="2", node="n", priority=10), pod("waits", cpu="2", priority=10))
        assert proposed_priorities(still) == []
        for name, value, more in (
            ("low", 5, {}),
            ("polite", 20, {"preemptionPolicy": "Never"}),
            ("urgent", 30, {}),
            ("system-node-critical", 2_000_001_000, {}),
        ):
            body: dict[str, Any] = {"metadata": {"name": name}, "value": value, **more}
            still.add(PRIORITY_CLASSES, msgspec.convert(body, PriorityClass))
        assert proposed_priorities(still) == [UsePriorityClass("urgent")]
        still.refuse(PRIORITY_CLASSES, 403)
        assert proposed_priorities(still) == []

    def test_of_a_gang(self) -> None:
        answer = why(cluster_of(*(pod(name, gang="g", least="3") for name in "pqr")), "q")
        assert answer.gang == GangProgress("g", 3, 3)
        assert outcome(answer) is Outcome.WAITING

    def test_who_finds_no_other_way_breaks_a_budget(self) -> None:
        still = StillCluster()
        still.add(NODES, node("n"))
        still.add(PODS, pod("low", cpu="2", node="n", gang="g", scheduler="another"))
        still.add(PODS, pod("high", cpu="2", priority=100))
        selector = {"matchLabels": {"batch.scheduling.k8s.io/gang": "g"}}
        body: dict[str, Any] = {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": selector},
        }
        still.add(BUDGETS, msgspec.convert(body, DisruptionBudget))
        cluster = asyncio.run(_read(still))
        answer = why(cluster, "high")
        assert outcome(answer) is Outcome.PLACED
        assert answer.view is not None
        assert [one.job for one in answer.view.evictions] == ["default/low"]

    def test_what_its_annotation_says_wrongly(self) -> None:
        answer = why(cluster_of(pod("p", gang="g", least="abc")), "p")
        assert answer.note.endswith("assumed: all pods of the gang start together")


class TestHeld:
    def test_a_gang_with_room_for_those_that_are_there(self) -> None:
        answer = why(cluster_of(*(pod(name, gang="g", least="3") for name in "pq")), "p")
        assert answer.situation is Situation.HELD
        assert answer.told == "gang g: 2 of 3 pods present; they start together"
        (remedy,) = answer.remedies
        assert remedy.change == StartWithFewer(3, 2)
        assert remedy.starts_on == ("n", "n")
        assert outcome(answer) is Outcome.WAITING, "three have no room"

    def test_a_gang_with_room_for_all_that_are_to_come(self) -> None:
        pods = [pod(name, gang="g", least="3") for name in "pq"]
        answer = why(cluster_of(*pods, nodes={"n": "3"}), "p")
        assert outcome(answer) is Outcome.PLACED
        assert answer.supposed == "If the missing pods were there, and like this one"

    def test_a_gang_without_room_for_any(self) -> None:
        answer = why(cluster_of(pod("p", cpu="3", gang="g", least="2")), "p")
        assert answer.remedies == ()

    def test_gates(self) -> None:
        gates = [{"name": "a"}, {"name": "b"}]
        answer = why(cluster_of(pod("p", schedulingGates=gates)), "p")
        assert answer.told == "held by its scheduling gates a, b, until their owner removes them"
        assert (outcome(answer), answer.supposed) == (Outcome.PLACED, "If its gates were gone")

    def test_room_that_is_being_made(self) -> None:
        victim = pod("v", node="n", is_ending=True, priority=0)
        answer = why(cluster_of(victim, pod("p", nominated="n", priority=100)), "p")
        assert (answer.told, answer.view) == ("pods on n are ending to make room for it", None)

    def test_a_claim(self) -> None:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        answer = why(cluster_of(pod("p", volumes=volumes)), "p")
        assert 'persistentvolumeclaim "data" not found' in answer.told
        assert answer.supposed == "If its volumes were there"

    def test_one_that_cant_be_used(self) -> None:
        answer = why(cluster_of(pod("p", cpu="many")), "p")
        assert (answer.situation, answer.view) == (Situation.HELD, None)
        assert "many" in answer.told


class TestBound:
    def test_where_and_why_there(self) -> None:
        """Whoever else waits doesn't get its room meanwhile."""
        pods = [pod("p", cpu="4", node="large"), pod("a", cpu="4")]
        answer = why(cluster_of(*pods, nodes={"small": "1", "large": "4"}), "p")
        assert (answer.situation, answer.node) == (Situation.BOUND, "large")
        assert (outcome(answer), answer.supposed) == (Outcome.PLACED, "If it was placed now")
        assert answer.view is not None
        assert [one.nodes for one in answer.view.explanation.refusals] == [("small",)]

    def test_one_of_a_gang(self) -> None:
        pods = [pod(name, gang="g", least="2", node="n") for name in "pq"]
        answer = why(cluster_of(*pods), "q")
        assert outcome(answer) is Outcome.PLACED
        assert answer.view is not None
        assert answer.view.nodes == ("n",)

    def test_since_when(self) -> None:
        condition = {"type": "PodScheduled", "lastTransitionTime": "2030-01-01T00:00:30Z"}
        body = {"metadata": {"name": "p"}, "status": {"conditions": [condition]}}
        still = StillCluster()
        still.add(NODES, node("n"))
        still.add(PODS, pod("p", node="n"))
        cluster = asyncio.run(_read(still))
        still.held[PODS.path()] = [msgspec.convert(body, TIMED_PODS.type)]
        assert why(cluster, "p").since_ms == NOW_MS - 30_000

    def test_and_ending(self) -> None:
        answer = why(cluster_of(pod("p", node="n", is_ending=True)), "p")
        assert (answer.situation, answer.told) == (Situation.BOUND, "it is being deleted, and ends")

    def test_by_another_scheduler(self) -> None:
        answer = why(cluster_of(pod("p", node="n", scheduler="default-scheduler")), "p")
        assert answer.told == "default-scheduler has put it there, and only that scheduler knows why"
        assert answer.view is None


class TestOthers:
    def test_waits_for_another_scheduler(self) -> None:
        answer = why(cluster_of(pod("p", scheduler="default-scheduler")), "p")
        assert answer.situation is Situation.ELSEWHERE
        assert answer.told.startswith("it waits for default-scheduler")

    @pytest.mark.parametrize("phase, told", [("Succeeded", "it has ended well"), ("Failed", "it has failed")])
    def test_is_over(self, phase: str, told: str) -> None:
        answer = why(cluster_of(pod("p", node="n", phase=phase)), "p")
        assert (answer.situation, answer.told) == (Situation.OVER, told)

    def test_is_being_deleted(self) -> None:
        answer = why(cluster_of(pod("p", is_ending=True)), "p")
        assert answer.told == "it is being deleted, and won't start any more"

    def test_cant_be_read(self) -> None:
        answer = why(cluster_of(unreadable="p"), "p")
        assert answer.situation is Situation.UNREADABLE
        assert answer.told == "the pod can't be scheduled: no such operator"


class TestStarts:
    def test_when_what_is_in_its_way_ends(self) -> None:
        running = pod("r", cpu="2", node="n", began_s=30, activeDeadlineSeconds=600)
        told = eta(cluster_of(running, pod("p", created_s=50)), "p")
        assert told.latest is not None
        assert told.expected == told.latest
        assert told.latest.isoformat() == "2030-01-01T00:10:30+00:00"
        assert told.reason == "by the activeDeadlineSeconds of what runs and waits before it"

    def test_after_those_before_it(self) -> None:
        running = pod("r", cpu="2", node="n", began_s=0, activeDeadlineSeconds=600)
        first = pod("first", cpu="2", created_s=10, activeDeadlineSeconds=300)
        told = eta(cluster_of(running, first, pod("p", created_s=50)), "p")
        assert told.latest is not None
        assert told.latest.isoformat() == "2030-01-01T00:15:00+00:00"

    def test_without_deadlines_nobody_knows(self) -> None:
        """Who comes later, or runs where it could never start, isn't in its way."""
        pods = [pod("r", cpu="2", node="n"), pod("first", created_s=10), pod("p", created_s=50)]
        others = [pod("later", created_s=55), pod("elsewhere", cpu="100m", node="tiny")]
        told = eta(cluster_of(*pods, *others, nodes={"n": "2", "tiny": "500m"}), "p")
        assert (told.expected, told.latest) == (None, None)
        assert told.reason == (
            "no estimate: only activeDeadlineSeconds says when pods end, and of the pods in its way"
            " 1 that runs and 1 that waits before it have none"
        )

    def test_at_once(self) -> None:
        told = eta(cluster_of(pod("p")), "p")
        assert told.expected == told.told

    def test_never(self) -> None:
        reason = eta(cluster_of(pod("p", cpu="3")), "p").reason
        assert reason is not None
        assert reason.startswith("it can't start on this cluster as it is: ")

    @pytest.mark.parametrize(
        "one, reason",
        [
            (pod("p", node="n"), "it is bound to n already"),
            (pod("p", gang="g", least="2"), "gang g: 1 of 2 pods present; they start together"),
            (pod("p", phase="Succeeded"), "it has ended well"),
        ],
    )
    def test_there_is_none_to_tell(self, one: Pod, reason: str) -> None:
        assert eta(cluster_of(one), "p").reason == reason


def test_one_answer_doesnt_change_the_next() -> None:
    cluster = cluster_of(
        pod("bound", cpu="2", node="n", activeDeadlineSeconds=600),
        pod("held", gang="g", least="2", created_s=10),
        pod("waits", created_s=20),
    )
    before = why(cluster, "waits")
    for name in ("bound", "held"):
        why(cluster, name)
        eta(cluster, name)
    assert why(cluster, "waits") == before
