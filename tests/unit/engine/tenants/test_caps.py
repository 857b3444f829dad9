"""The most that users, projects and queues hold at once."""

from __future__ import annotations

from typing import Any

import pytest

from rota.model.job import ArrayLimit
from rota.model.limits import Limits, LimitsPolicy
from rota.model.policy import Policy, QueuePolicy, SchedulerPolicy
from rota.model.reasons import ArrayLimitReached, BeyondLimit, LimitReached
from tests.builders import Cluster

pytestmark = pytest.mark.covers("trust-4")

ONE = Cluster().node("n", cpu=16, gpus=4)


def limits(*queues: QueuePolicy, **sections: Any) -> Policy:
    return Policy((SchedulerPolicy(queues=queues or (QueuePolicy(),)),), limits=LimitsPolicy(**sections))


def cpus(count: int) -> Limits:
    return Limits(at_once=(("cpu", count * 1000),))


def of(user: str, project: str = "vision") -> dict[str, Any]:
    return {"template": {"user": user, "project": project}}


def jobs(cluster: Cluster, names: str, **words: Any) -> Cluster:
    for name in names.split():
        cluster = cluster.job(name, **words)
    return cluster


def started(cluster: Cluster, policy: Policy) -> list[str]:
    return sorted({binding.job for binding in cluster.plan(policy).plan.bindings})


def test_each_user_has_the_default_and_no_more() -> None:
    cluster = jobs(jobs(ONE, "a b c", cpu=2, **of("ada")), "x y z", cpu=2, **of("bob", "audio"))
    assert started(cluster, limits(default=cpus(4))) == ["a", "b", "x", "y"]
    assert started(cluster, limits(default=cpus(4), users=(("bob", cpus(2)),))) == ["a", "b", "x"]
    assert started(cluster, limits(projects=(("vision", cpus(2)),))) == ["a", "x", "y", "z"]
    assert started(cluster, limits(queues=(("default", cpus(6)),))) == ["a", "b", "c"]


def test_what_runs_counts_and_the_reason_says_whose_limit_it_is() -> None:
    cluster = jobs(ONE.running("r", on=["n"], cpu=3, **of("ada")), "a", cpu=2, **of("ada"))
    [refusal] = cluster.plan(limits(default=cpus(4))).waits("a").refusals
    assert refusal.reason == LimitReached("user", "ada", "cpu", 2000, 4000)
    assert started(cluster, limits(default=cpus(5))) == ["a"]


def test_a_gang_starts_as_a_whole_or_waits() -> None:
    cluster = ONE.job("gang", cpu=2, tasks=3, **of("ada")).job("small", cpu=2, **of("ada"))
    plan = cluster.plan(limits(default=cpus(4)))
    assert plan.reasons("gang") == {BeyondLimit}
    assert plan.places("small") == ["n"]
    part = ONE.job("gang", cpu=2, tasks=3, min_available=1, **of("ada")).plan(limits(default=cpus(4)))
    assert len(part.places("gang")) == 2


def test_other_resources_are_not_limited() -> None:
    cluster = jobs(ONE, "a b", cpu=1, gpu=1, **of("ada"))
    assert started(cluster, limits(default=Limits(at_once=(("gpu", 1000),)))) == ["a"]
    assert started(cluster, limits(default=Limits(at_once=(("example.com/fpga", 1),)))) == ["a", "b"]


class TestJobs:
    def test_so_many_run_at_once(self) -> None:
        cluster = jobs(ONE.running("r", on=["n"], cpu=1, **of("ada")), "a b c", cpu=1, **of("ada"))
        cluster = jobs(cluster, "x", cpu=1, **of("bob"))
        plan = cluster.plan(limits(default=Limits(running_jobs=3)))
        assert sorted({binding.job for binding in plan.plan.bindings}) == ["a", "b", "x"]
        [refusal] = plan.waits("c").refusals
        assert refusal.reason == LimitReached("user", "ada", "", 1, 3)

    def test_one_of_several_tasks_counts_once_and_may_grow(self) -> None:
        gang = {"cpu": 1, "tasks": 3, "min_available": 1, **of("ada")}
        cluster = jobs(ONE, "a b", **gang)
        assert started(cluster, limits(default=Limits(running_jobs=1))) == ["a"]
        grows = ONE.running("r", on=["n"], cpu=1, tasks=2, min_available=1, **of("ada"))
        assert started(grows, limits(default=Limits(running_jobs=1))) == ["r"]

    def test_none_at_all_is_never(self) -> None:
        plan = jobs(ONE, "a", cpu=1, **of("ada")).plan(limits(users=(("ada", Limits(running_jobs=0)),)))
        assert plan.reasons("a") == {BeyondLimit}


TWO: dict[str, Any] = {"cpu": 1, "template": {"array_limit": ArrayLimit("24", 2)}}
OTHERS: dict[str, Any] = {"cpu": 1, "template": {"array_limit": ArrayLimit("34", 2)}}


@pytest.mark.covers("first-3")
class TestArrays:
    """How many jobs of an array run at once."""

    def test_so_many_run_at_once_and_the_others_say_why(self) -> None:
        plan = jobs(ONE.running("24.0", on=["n"], **TWO), "24.1 24.2 24.3", **TWO).plan(Policy())
        assert [binding.job for binding in plan.plan.bindings] == ["24.1"]
        for name in ("24.2", "24.3"):
            [refusal] = plan.waits(name).refusals
            assert refusal.reason == ArrayLimitReached("24", 2)

    def test_another_array_and_other_jobs_have_nothing_to_do_with_it(self) -> None:
        cluster = jobs(jobs(ONE, "24.1 24.2 24.3", **TWO), "34.1 34.2 34.3", **OTHERS)
        cluster = jobs(cluster, "a b c", cpu=1)
        assert started(cluster, Policy()) == ["24.1", "24.2", "34.1", "34.2", "a", "b", "c"]

    def test_a_limit_of_the_user_counts_besides(self) -> None:
        mine = {"cpu": 1, "template": {"user": "ada", "array_limit": ArrayLimit("24", 3)}}
        cluster = jobs(ONE, "24.1 24.2 24.3 24.4", **mine)
        assert started(cluster, limits(default=Limits(running_jobs=2))) == ["24.1", "24.2"]
        assert started(cluster, limits(default=Limits(running_jobs=9))) == ["24.1", "24.2", "24.3"]

    def test_gangs_count_once_each(self) -> None:
        gang = {"cpu": 1, "tasks": 3, "template": {"array_limit": ArrayLimit("24", 2)}}
        assert started(jobs(ONE, "24.1 24.2 24.3", **gang), Policy()) == ["24.1", "24.2"]

    def test_nobody_waits_behind_it_in_a_strict_queue(self) -> None:
        cluster = jobs(ONE.running("24.0", on=["n"], **TWO), "24.1 24.2", submitted=-9, **TWO)
        strict = limits(QueuePolicy(strict=True))
        assert started(jobs(cluster, "x", cpu=1), strict) == ["24.1", "x"]

    def test_nobody_is_told_a_start_that_depends_on_it(self) -> None:
        full = ONE.running("24.0", on=["n"], limit=60, cpu=1, template={"array_limit": ArrayLimit("24", 1)})
        cluster = full.job("24.1", cpu=1, limit=60, template={"array_limit": ArrayLimit("24", 1)})
        assert cluster.plan(limits(QueuePolicy(interactive=True))).starts() == {}


def test_nobody_waits_behind_who_is_over_a_limit_of_their_own() -> None:
    cluster = jobs(ONE.running("r", on=["n"], cpu=4, **of("ada")), "a", cpu=2, submitted=-9, **of("ada"))
    cluster = jobs(cluster, "x", cpu=2, **of("bob"))
    strict = limits(QueuePolicy(strict=True), users=(("ada", cpus(4)),))
    assert started(cluster, strict) == ["x"]


def test_what_is_promised_counts_as_held() -> None:
    """Else somebody could get any number of promises, and hold all of it once they fall due."""
    busy = ONE.running("r", on=["n"], cpu=16, limit=100, **of("bob"))
    cluster = jobs(busy, "a b c", cpu=4, limit=60, **of("ada"))
    desk = limits(QueuePolicy(interactive=True), users=(("ada", cpus(8)),))
    plan = cluster.plan(desk)
    assert [name for name in "abc" if name in plan.starts()] == ["a", "b"]
    assert "c" in plan.waiting()


def test_a_limit_makes_room_for_a_higher_class_of_the_same_user_alone() -> None:
    cluster = ONE.running("low", on=["n"], cpu=4, priority="low", **of("ada"))
    cluster = cluster.running("other", on=["n"], cpu=4, priority="low", **of("bob"))
    plan = cluster.job("high", cpu=4, priority="high", **of("ada")).plan(limits(users=(("ada", cpus(4)),)))
    assert plan.evicts() == ["low"]
    assert plan.places("high") == ["n"]
