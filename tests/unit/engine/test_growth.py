"""What a decision costs grows no faster than n log n, whatever it is that a job has many of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rota.engine import decide
from rota.engine.explaining.explain import explain
from rota.engine.explaining.idle import IdleCluster
from rota.engine.placing.place import hardest_first
from rota.engine.scope import Turn
from rota.model.ids import JobId
from rota.model.job import Job, TaskGroup
from rota.model.policy import Policy, QueuePolicy, Quota, SchedulerPolicy, TenantPolicy
from rota.snapshot import ClusterState, snapshot_of
from rota.snapshot.waiting import LaneKey
from tests.builders import PLUGINS, Cluster, policy
from tests.operations import MOST_GROWTH, growth, operations
from tests.unit.engine.compiling import Compiling
from tests.words import NOW_MS, apart, lie, near, tasks

pytestmark = [pytest.mark.covers("trust-1"), pytest.mark.slow]


def crowded(groups: list[TaskGroup], **words: Any) -> Cluster:
    """A job that would fit if some of the node weren't taken."""
    size = sum(group.count for group in groups)
    return (
        Cluster()
        .node("n", cpu=size + 8, labels={"zone": "a"})
        .running("r", on=["n"], cpu=12)
        .job("j", groups=groups, **words)
    )


def unlike(count: int) -> list[TaskGroup]:
    return [tasks(1, cpu=1 + number / 1000) for number in range(count)]


def labelled(count: int) -> list[TaskGroup]:
    return [tasks(1, cpu=1, labels={"index": str(number)}) for number in range(count)]


def deciding(cluster: Cluster) -> Callable[[], object]:
    snapshot = snapshot_of(cluster.records)
    return lambda: decide(snapshot, Policy(), NOW_MS, PLUGINS)


def explaining(cluster: Cluster, job: str = "j") -> Callable[[], object]:
    snapshot = snapshot_of(cluster.records)
    return lambda: explain(snapshot, Policy(), NOW_MS, PLUGINS, JobId(job))


class TestGroups:
    @pytest.mark.parametrize("groups", [unlike, labelled])
    def test_a_job_that_does_not_fit(self, groups: Callable[[int], list[TaskGroup]]) -> None:
        assert growth(lambda count: deciding(crowded(groups(count)))) <= MOST_GROWTH

    @pytest.mark.parametrize("groups", [unlike, labelled])
    def test_why_it_does_not_fit(self, groups: Callable[[int], list[TaskGroup]]) -> None:
        assert growth(lambda count: explaining(crowded(groups(count))), first=4) <= MOST_GROWTH

    def test_each_must_be_near_the_one_before(self) -> None:
        def chain(count: int) -> list[TaskGroup]:
            first = tasks(1, cpu=1, labels={"link": "0"})
            others = [
                tasks(1, cpu=1, labels={"link": str(at)}, affinity=[near("zone", f"link In {at - 1}")])
                for at in range(1, count)
            ]
            return [first, *others]

        def ordering(count: int) -> Callable[[], object]:
            work = Compiling(crowded(chain(count))).work()
            assert hardest_first(work) == list(range(count))
            return lambda: hardest_first(work)

        assert growth(ordering) <= MOST_GROWTH


class TestAJobThatWaits:
    """One that can't start is asked about in every cycle: it must cost little, whatever it is made of."""

    @pytest.mark.parametrize("groups", [unlike, labelled])
    def test_whether_it_ever_can_is_found_out_once(
        self, groups: Callable[[int], list[TaskGroup]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        room_for = IdleCluster.room_for

        def counted(idle: IdleCluster, turn: Turn, key: LaneKey, job: Job) -> int:
            asked.append(job.id)
            return room_for(idle, turn, key, job)

        monkeypatch.setattr(IdleCluster, "room_for", counted)
        state = ClusterState()
        state.load(crowded(groups(64), topology=[lie("zone", "same")]).records)
        own = Policy()
        for number in range(3):
            plan = decide(state.snapshot(), own, NOW_MS, PLUGINS)
            assert [entry.jobs for entry in plan.waiting] == [("j",)]
            [other] = Cluster().running(f"other-{number}", on=["n"], cpu=0.001).records.jobs
            state.set_job(other)
        assert asked == ["j"]

    def test_pods_that_differ_in_a_label_cost_as_much_as_equal_ones(self) -> None:
        equal = operations(deciding(crowded([tasks(256, cpu=1)])))
        assert operations(deciding(crowded(labelled(256)))) <= 8 * equal


class TestManyJobs:
    def test_each_near_the_one_behind(self) -> None:
        def cluster(count: int) -> Cluster:
            made = Cluster().node("n", cpu=count, zone="a")
            for at in range(count):
                rule = [near("zone", f"link In {at + 1}")] if at < count - 1 else []
                made = made.job(f"j{at:03}", cpu=0.1, labels={"link": str(at)}, affinity=rule, submitted=at)
            return made

        assert len(cluster(32).plan().plan.bindings) == 32
        assert growth(lambda count: deciding(cluster(count)), first=64) <= MOST_GROWTH

    def test_each_of_another_tenant_with_a_quota(self) -> None:
        def asking(count: int) -> Callable[[], object]:
            made = Cluster().node("n", cpu=1)
            for at in range(count):
                made = made.job(f"j{at:03}", cpu=2, template={"project": f"p{at}"})
            tenants = [TenantPolicy(f"p{at}", quota=Quota((("cpu", 500),))) for at in range(count)]
            snapshot, own = snapshot_of(made.records), policy(tenants=tenants)
            return lambda: decide(snapshot, own, NOW_MS, PLUGINS)

        assert growth(asking) <= MOST_GROWTH

    def test_each_in_a_queue_of_its_own(self) -> None:
        def asking(count: int) -> Callable[[], object]:
            made = Cluster().node("n", cpu=1)
            for at in range(count):
                made = made.job(f"j{at:03}", cpu=2, queue=f"q{at}")
            queues = tuple(QueuePolicy(f"q{at}") for at in range(count))
            snapshot, own = snapshot_of(made.records), Policy((SchedulerPolicy(queues=queues),))
            return lambda: decide(snapshot, own, NOW_MS, PLUGINS)

        assert growth(asking) <= MOST_GROWTH


class TestWhatWouldHelp:
    """Each change is a trial, and so only so many are tried."""

    @staticmethod
    def asking(**words: Any) -> Callable[[], object]:
        return explaining(Cluster().node("n", cpu=4, zone="a").job("j", cpu=8, **words))

    def test_many_rules_about_others(self) -> None:
        def terms(count: int) -> Callable[[], object]:
            return self.asking(affinity=[near("zone", f"app In a{at}") for at in range(count)])

        assert growth(terms, first=64) <= MOST_GROWTH

    def test_many_labels_that_a_node_must_have(self) -> None:
        def labels(count: int) -> Callable[[], object]:
            return self.asking(selector={f"k{at:04}": "v" for at in range(count)})

        assert growth(labels, first=64) <= MOST_GROWTH

    def test_nodes_that_all_have_other_taints(self) -> None:
        def nodes(count: int) -> Callable[[], object]:
            made = Cluster()
            for at in range(count):
                made = made.node(f"n{at:04}", cpu=4, taints=[f"k{at}:NoSchedule"])
            return explaining(made.job("j", cpu=8))

        assert growth(nodes, first=64) <= MOST_GROWTH


class TestRulesAboutOthers:
    def test_many_terms_of_one_job(self) -> None:
        def cluster(count: int) -> Cluster:
            terms = [apart("zone", f"app In a{number}") for number in range(count)]
            return Cluster().node("n", cpu=4, zone="a").job("j", cpu=8, affinity=terms)

        assert growth(lambda count: deciding(cluster(count))) <= MOST_GROWTH

    def test_many_jobs_that_keep_away_from_their_own_kind(self) -> None:
        def cluster(count: int) -> Cluster:
            made = Cluster().node("n", cpu=count)
            for number in range(count):
                labels = {"app": f"a{number}"}
                rule = apart("zone", f"app In a{number}")
                made = made.running(f"r{number}", on=["n"], cpu=1, labels=labels, affinity=[rule])
            return made.job("j", cpu=1, labels={"app": "a0"})

        assert growth(lambda count: deciding(cluster(count))) <= MOST_GROWTH
