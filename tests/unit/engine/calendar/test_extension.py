"""A time limit is extended where that breaks no promise; else what is in the way is named."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rota.engine.calendar.extension import extend
from rota.model.extension import Answer, Extension, InTheWay, Obstacle
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, Placement, Promise
from rota.model.policy import QueuePolicy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.kit.sampling import sampled
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("time-8")

HOUR = 3600.0
POLICY = policy(
    queues=(QueuePolicy(), QueuePolicy("live", interactive=True, order=-1)),
    preemption=False,
)
RUNS = Cluster().nodes("n m", cpu=4).running("j", on=["n"], cpu=3, started=-HOUR, limit=2 * HOUR)
"""Ends in an hour."""


def asked(cluster: Cluster, hours: float, name: str = "j") -> Extension:
    limit_ms = int(hours * HOUR * 1000)
    return extend(snapshot_of(cluster.records), POLICY, NOW_MS, PLUGINS, JobId(name), limit_ms)


def ms(seconds: float) -> int:
    return NOW_MS + int(seconds * 1000)


def hours(span_ms: int | None) -> float | None:
    return None if span_ms is None else span_ms / HOUR / 1000


def promised(cluster: Cluster, name: str, start: float, nodes: str) -> Cluster:
    placements = tuple(Placement(rank, NodeName(node), ms(start)) for rank, node in enumerate(nodes.split()))

    def told(record: JobRecord) -> JobRecord:
        is_it = record.job.id == name
        return replace(record, promise=Promise(ms(start), placements)) if is_it else record

    return Cluster(replace(cluster.records, jobs=tuple(map(told, cluster.records.jobs))))


class TestGranted:
    def test_where_nothing_else_is_planned(self) -> None:
        answer = asked(RUNS, 9)
        assert answer.is_granted
        assert (answer.limit_ms, answer.had_ms) == (9 * 3_600_000, 2 * 3_600_000)
        assert answer.end_ms == ms(8 * HOUR)
        assert answer.longest_ms is None

    def test_where_there_is_room_beside_what_is_promised(self) -> None:
        cluster = RUNS.job("desk", cpu=1, limit=HOUR, queue="live")
        assert asked(promised(cluster, "desk", 2 * HOUR, "n"), 9).is_granted

    def test_up_to_the_moment_at_which_something_begins(self) -> None:
        cluster = RUNS.maintenance("disks", start=3 * HOUR, end=4 * HOUR)
        assert asked(cluster, 4).is_granted
        assert hours(asked(cluster, 4).longest_ms) == 4

    def test_whatever_happens_on_other_nodes(self) -> None:
        cluster = RUNS.maintenance("disks", start=HOUR, end=4 * HOUR, on="m")
        assert asked(cluster, 9).is_granted

    def test_or_when_it_is_over(self) -> None:
        assert asked(RUNS.maintenance("disks", start=-9, end=-1), 9).is_granted

    def test_a_limit_of_years(self) -> None:
        assert asked(RUNS, 24 * 366 * 100).is_granted


class TestInTheWay:
    def test_maintenance(self) -> None:
        answer = asked(RUNS.maintenance("disks", start=2 * HOUR, end=4 * HOUR), 9)
        assert answer.answer is Answer.IN_THE_WAY
        assert answer.in_the_way == (InTheWay(Obstacle.MAINTENANCE, "disks", ms(2 * HOUR), (NodeName("n"),)),)
        assert hours(answer.longest_ms) == 3

    def test_somebody_elses_reservation(self) -> None:
        cluster = RUNS.reservation("exam", start=1.5 * HOUR, end=4 * HOUR, on="n m", tenants=["x"])
        answer = asked(cluster, 9)
        [entry] = answer.in_the_way
        assert (entry.obstacle, entry.name, entry.nodes) == (Obstacle.RESERVATION, "exam", ("n",))
        assert hours(answer.longest_ms) == 2.5

    def test_but_not_one_that_leaves_it_enough(self) -> None:
        cluster = RUNS.reservation("part", start=HOUR, end=4 * HOUR, on="n", tenants=["x"], cpu=1)
        assert asked(cluster, 9).is_granted
        cluster = RUNS.reservation("part", start=HOUR, end=4 * HOUR, on="n", tenants=["x"], cpu=2)
        assert asked(cluster, 9).answer is Answer.IN_THE_WAY

    def test_the_end_of_its_own_reservation(self) -> None:
        cluster = Cluster().node("n", cpu=4).reservation("course", start=-2 * HOUR, end=3 * HOUR, on="n")
        cluster = cluster.running("j", on=["n"], cpu=3, started=-HOUR, limit=2 * HOUR, reservation="course")
        answer = asked(cluster, 5)
        [entry] = answer.in_the_way
        assert (entry.obstacle, entry.start_ms) == (Obstacle.RESERVATION_ENDS, ms(3 * HOUR))
        assert hours(answer.longest_ms) == 4
        assert asked(cluster, 4).is_granted

    def test_a_promised_start(self) -> None:
        cluster = RUNS.job("desk", cpu=2, limit=HOUR, queue="live")
        answer = asked(promised(cluster, "desk", 2 * HOUR, "n"), 3.1)
        assert answer.in_the_way == (InTheWay(Obstacle.PROMISE, "desk", ms(2 * HOUR), (NodeName("n"),)),)
        assert hours(answer.longest_ms) == 3

    def test_also_one_that_is_given_only_now(self) -> None:
        cluster = RUNS.running("k", on=["m"], cpu=4, started=0, limit=9 * HOUR)
        answer = asked(cluster.job("desk", cpu=4, limit=HOUR, queue="live"), 3)
        assert [entry.name for entry in answer.in_the_way] == ["desk"]
        assert hours(answer.longest_ms) == 2

    def test_all_that_is(self) -> None:
        cluster = RUNS.maintenance("late", start=7 * HOUR, end=9 * HOUR)
        cluster = cluster.maintenance("soon", start=2 * HOUR, end=3 * HOUR)
        assert [entry.name for entry in asked(cluster, 9).in_the_way] == ["soon", "late"]
        assert [entry.name for entry in asked(cluster, 5).in_the_way] == ["soon"]

    def test_what_began_before_but_counted_on_its_end(self) -> None:
        cluster = RUNS.maintenance("disks", start=1800, end=4 * HOUR)
        answer = asked(cluster, 3)
        assert [entry.start_ms for entry in answer.in_the_way] == [ms(1800)]
        assert hours(answer.longest_ms) == 2

    def test_the_devices_it_has_count(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=8, gpus=2)
            .running("j", on=["n"], devices=[[1]], gpu=1, started=-HOUR, limit=2 * HOUR)
            .job("desk", gpu=1, limit=HOUR, queue="live")
        )
        for device, is_granted in ((0, True), (1, False)):
            placement = Placement(0, NodeName("n"), ms(2 * HOUR), (device,))
            jobs = tuple(
                replace(one, promise=Promise(ms(2 * HOUR), (placement,))) if one.job.id == "desk" else one
                for one in cluster.records.jobs
            )
            assert asked(Cluster(replace(cluster.records, jobs=jobs)), 9).is_granted is is_granted

    def test_of_a_gang_each_node_counts(self) -> None:
        cluster = Cluster().nodes("n m o", cpu=4).running("j", on=["n", "m"], cpu=3, started=0, limit=HOUR)
        answer = asked(cluster.maintenance("disks", start=2 * HOUR, end=3 * HOUR, on="m o"), 9)
        assert [entry.nodes for entry in answer.in_the_way] == [("m",)]
        assert hours(answer.longest_ms) == 2


class TestRefusedAtOnce:
    @pytest.mark.parametrize(
        ("cluster", "limit_hours", "answer"),
        [
            (Cluster().node("n", cpu=4), 9, Answer.UNKNOWN_JOB),
            (Cluster().node("n", cpu=4).job("j", cpu=1, limit=60), 9, Answer.NOT_RUNNING),
            (Cluster().node("n", cpu=4).running("j", on=["n"], cpu=1), 9, Answer.NO_LIMIT),
            (RUNS, 0.5, Answer.ALREADY_RAN),
            (RUNS, 1, Answer.ALREADY_RAN),
            (RUNS, 1.5, Answer.NOT_LONGER),
            (RUNS, 2, Answer.NOT_LONGER),
            (RUNS, 0, Answer.ALREADY_RAN),
            (Cluster().node("n", cpu=4).running("j", on=["n"], limit=HOUR), 9, Answer.LIMIT_PASSED),
            (RUNS.maintenance("disks", start=0, end=60), 9, Answer.EVICTED),
        ],
    )
    def test_with_the_reason(self, cluster: Cluster, limit_hours: float, answer: Answer) -> None:
        refused = asked(cluster, limit_hours)
        assert refused.answer is answer
        assert (refused.in_the_way, refused.moved, refused.cost_micro) == ((), (), 0)


class TestCost:
    def test_it_is_the_share_of_the_nodes_price_for_the_time_added(self) -> None:
        cluster = Cluster().node("n", cpu=4, price=8).running("j", on=["n"], cpu=3, started=0, limit=HOUR)
        assert asked(cluster, 3.5).cost_micro == 15_000_000

    def test_of_all_tasks(self) -> None:
        cluster = Cluster().node("n", cpu=4, price=8).node("m", cpu=4, price=2)
        assert asked(cluster.running("j", on=["n", "m"], cpu=4, started=0, limit=HOUR), 2).cost_micro == (
            10_000_000
        )

    def test_it_is_told_with_a_refusal_too(self) -> None:
        cluster = Cluster().node("n", cpu=4, price=8).running("j", on=["n"], cpu=4, started=0, limit=HOUR)
        assert asked(cluster.maintenance("disks", start=HOUR, end=2 * HOUR), 2).cost_micro == 8_000_000

    def test_no_more_than_its_user_allows(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=4, price=8)
            .running("j", on=["n"], cpu=4, started=0, limit=HOUR, template={"max_cost_micro": 20_000_000})
        )
        assert asked(cluster, 2.5).is_granted
        refused = asked(cluster, 2.6)
        assert refused.answer is Answer.OVER_BUDGET
        assert hours(refused.longest_ms) == 2.5


class TestMoved:
    def test_planned_starts_that_would_be_later(self) -> None:
        cluster = RUNS.running("k", on=["m"], cpu=4, started=0, limit=9 * HOUR)
        cluster = cluster.job("next", cpu=4, limit=HOUR).job("after", cpu=4, limit=HOUR, submitted=1)
        answer = asked(cluster, 4)
        assert answer.is_granted
        assert [(one.job, one.from_ms, one.to_ms) for one in answer.moved] == [
            ("next", ms(HOUR), ms(3 * HOUR)),
            ("after", ms(2 * HOUR), ms(4 * HOUR)),
        ]

    def test_a_start_now_that_no_longer_delays_nobody(self) -> None:
        cluster = Cluster().node("n", cpu=4).running("j", on=["n"], cpu=2, started=0, limit=HOUR)
        cluster = cluster.job("desk", cpu=2, limit=HOUR, queue="live", after=2 * HOUR)
        cluster = cluster.job("batch", cpu=2, limit=3 * HOUR)
        answer = asked(promised(cluster, "desk", 2 * HOUR, "n"), 3)
        assert answer.is_granted
        assert [(one.job, one.from_ms, one.to_ms) for one in answer.moved] == [
            ("batch", NOW_MS, ms(3 * HOUR))
        ]

    def test_none_of_those_that_stay(self) -> None:
        cluster = RUNS.running("k", on=["m"], cpu=4, started=0, limit=HOUR)
        assert asked(cluster.job("next", cpu=1, limit=HOUR), 4).moved == ()

    def test_the_rest_of_the_job_itself_counts_with_its_new_limit(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=4)
            .running("j", on=["n"], tasks=2, min_available=1, cpu=3, started=0, limit=HOUR)
        )
        assert [(one.job, one.to_ms) for one in asked(cluster, 2).moved] == [("j", ms(2 * HOUR))]


# -- and at random


def random_cluster(chance: random.Random) -> Cluster:
    cluster = Cluster().nodes("a b c", cpu=4)
    for number in range(chance.randrange(4)):
        limit = chance.choice([1, 3, 6]) * HOUR
        cluster = cluster.running(f"r{number}", on=[chance.choice("abc")], cpu=1, started=-60, limit=limit)
    announce: list[Callable[[Cluster], Cluster]] = [
        lambda one: one.maintenance(
            "disks", start=chance.choice([1, 4]) * HOUR, end=5 * HOUR, on=chance.choice("abc")
        ),
        lambda one: one.reservation(
            "exam", start=2 * HOUR, end=4 * HOUR, on=chance.choice("abc"), tenants=["x"], cpu=2
        ),
    ]
    for change in announce:
        if chance.random() < 0.4:
            cluster = change(cluster)
    for number in range(chance.randrange(4)):
        cluster = cluster.job(
            f"live{number}", cpu=chance.choice([1, 4]), limit=HOUR, queue="live", after=number * 1800.0
        )
    for number in range(chance.randrange(3)):
        cluster = cluster.job(f"batch{number}", cpu=chance.choice([2, 4]), limit=2 * HOUR)
    tasks = chance.sample("abc", chance.choice([1, 2]))
    return cluster.running("j", on=tasks, cpu=1, started=-600, limit=HOUR)


@pytest.mark.parametrize("seed", sampled(range(80), quick=8))
def test_no_promise_moves_and_the_longest_limit_is_the_longest(seed: int) -> None:
    cluster = random_cluster(random.Random(seed))
    told = {one.job: one for one in cluster.plan(POLICY).plan.starts if one.promised}
    for name, one in told.items():
        cluster = promised(
            cluster, name, (one.start_ms - NOW_MS) / 1000, " ".join(at.node for at in one.placements)
        )
    answer = asked(cluster, 5)
    if answer.answer is Answer.EVICTED:
        return
    longest = 5.0 if answer.is_granted else hours(answer.longest_ms)
    assert longest is not None
    if not answer.is_granted:
        assert answer.in_the_way
        assert asked(cluster, longest + 0.01).answer is Answer.IN_THE_WAY
    if longest > 1:
        assert asked(cluster, longest).is_granted
        jobs = tuple(
            replace(
                one,
                job=replace(
                    one.job, template=replace(one.job.template, time_limit_ms=int(longest * HOUR * 1000))
                ),
            )
            if one.job.id == "j"
            else one
            for one in cluster.records.jobs
        )
        after = Cluster(replace(cluster.records, jobs=jobs)).plan(POLICY)
        assert {one.job: one for one in after.plan.starts if one.promised} == told
