"""What a decision costs grows no faster than n log n, whatever it is that a job has many of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rota.engine import decide
from rota.engine.explain import explain
from rota.engine.place import hardest_first
from rota.model.ids import JobId
from rota.model.job import TaskGroup
from rota.model.policy import Policy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster
from tests.operations import MOST_GROWTH, growth
from tests.unit.engine.test_compile import Compiling
from tests.words import NOW_MS, apart, near, tasks

pytestmark = pytest.mark.covers("trust-1")


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
