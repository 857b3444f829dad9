"""What would let a job start sooner, and when: every time told is the one that deciding anew gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rota.engine.explaining.explain import explain
from rota.model.changes import AskForLess, ShortenTimeLimit, StartWithFewer
from rota.model.explanation import NOW, Change, Explanation, Remedy
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, Placement, Promise
from rota.model.policy import Backfill, Policy, QueuePolicy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.kit.sampling import sampled
from tests.unit.engine.explaining.applying import applied
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("why-2")

HOUR = 3600.0
POLICY = policy(
    queues=(QueuePolicy(), QueuePolicy("live", interactive=True, order=-1)),
    preemption=False,
)
BUSY = (
    Cluster()
    .nodes("a b", cpu=4)
    .running("long", on=["a"], cpu=3, started=0, limit=4 * HOUR)
    .running("short", on=["b"], cpu=4, started=0, limit=HOUR)
)
"""One core is free now, four in an hour, eight in four."""


def explained(cluster: Cluster, rules: Policy = POLICY) -> Explanation:
    return explain(snapshot_of(cluster.records), rules, NOW_MS, PLUGINS, JobId("j"))


def seconds(start_ms: int | None) -> float | None:
    return None if start_ms is None else 0 if start_ms == NOW else (start_ms - NOW_MS) / 1000


def told(
    cluster: Cluster, kind: type[Change], rules: Policy = POLICY
) -> list[tuple[int | None, float | None]]:
    """Amounts and starts of the remedies of one kind."""
    found = explained(cluster, rules).remedies
    return [(amount(one.change), seconds(one.start_ms)) for one in found if isinstance(one.change, kind)]


def amount(change: Change) -> int | None:
    match change:
        case AskForLess(_, _, most) | StartWithFewer(_, most) | ShortenTimeLimit(_, most):
            return most
        case _:
            return None


def decided(cluster: Cluster, remedy: Remedy, rules: Policy) -> float | None:
    """When the job starts once the change is made."""
    plan = applied(cluster, remedy.change).plan(rules)
    return 0 if plan.places("j") else plan.starts().get("j")


def with_promise(cluster: Cluster, name: str, start: float, node: str) -> Cluster:
    start_ms = NOW_MS + int(start * 1000)

    def promised(record: JobRecord) -> JobRecord:
        placement = Placement(0, NodeName(node), start_ms)
        return replace(record, promise=Promise(start_ms, (placement,))) if record.job.id == name else record

    return Cluster(replace(cluster.records, jobs=tuple(map(promised, cluster.records.jobs))))


class TestTheJobItself:
    def test_its_own_start_is_told(self) -> None:
        explanation = explained(BUSY.job("j", tasks=2, cpu=4, limit=60))
        assert (seconds(explanation.start_ms), explanation.promised) == (4 * HOUR, False)

    def test_and_whether_it_is_a_promise(self) -> None:
        explanation = explained(BUSY.job("j", cpu=4, limit=60, queue="live"))
        assert (seconds(explanation.start_ms), explanation.promised) == (HOUR, True)

    def test_who_has_no_place_in_the_calendar_is_told_none(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("r", on=["n"], cpu=1).job("j", cpu=1)
        assert explained(cluster).start_ms is None


class TestAmounts:
    CLUSTER = BUSY.job("j", cpu=4, tasks=2, limit=HOUR)

    def test_the_most_that_starts_sooner_and_the_most_that_starts_now(self) -> None:
        assert told(self.CLUSTER, AskForLess) == [(500, 0), (2000, HOUR)]

    def test_only_the_one_where_no_other_is_to_be_had(self) -> None:
        assert told(self.CLUSTER, StartWithFewer) == [(1, HOUR)]
        assert told(BUSY.job("j", cpu=4, limit=60), AskForLess) == [(1000, 0)]

    def test_those_that_start_now_come_first(self) -> None:
        starts = [one.start_ms for one in explained(BUSY.node("c", cpu=1).job("j", cpu=4, tasks=2)).remedies]
        assert starts == sorted(starts, key=lambda start: start != NOW)
        assert len(set(starts)) > 1

    def test_a_minute_or_a_twentieth_is_not_worth_it(self) -> None:
        def after(short: float, long: float) -> list[tuple[int | None, float | None]]:
            cluster = (
                Cluster()
                .nodes("a b", cpu=4)
                .running("r", on=["a"], cpu=4, started=0, limit=short)
                .running("s", on=["b"], cpu=4, started=0, limit=long)
            )
            return told(cluster.job("j", cpu=4, tasks=2, limit=60), StartWithFewer)

        assert after(61, 120) == []
        assert after(60, 120) == [(1, 60)]
        assert after(9501, 10_000) == []
        assert after(9500, 10_000) == [(1, 9500)]

    def test_of_a_job_without_a_start_every_time_helps(self) -> None:
        cluster = BUSY.running("endless", on=["a"], cpu=1).job("j", cpu=4, tasks=2, limit=60)
        assert explained(cluster).start_ms is None
        assert told(cluster, StartWithFewer) == [(1, HOUR)]


class TestTimeLimit:
    def test_it_could_be_done_before_somebody_else_starts(self) -> None:
        cluster = BUSY.job("wide", cpu=4, tasks=2, limit=HOUR, submitted=-1).job("j", cpu=1, limit=5 * HOUR)
        assert explained(cluster).start_ms == NOW_MS + 5 * HOUR * 1000
        assert told(cluster, ShortenTimeLimit) == [(int(4 * HOUR) * 1000, 0)]

    def test_or_before_maintenance(self) -> None:
        cluster = Cluster().node("n", cpu=1).maintenance("disks", start=HOUR, end=2 * HOUR).job("j", cpu=1)
        assert told(cluster, ShortenTimeLimit) == [(3_600_000, 0)]

    def test_or_before_a_reservation_that_others_have(self) -> None:
        cluster = Cluster().node("n", cpu=1).reservation("exam", start=90, end=HOUR, on="n", tenants=["x"])
        assert told(cluster.job("j", cpu=1, limit=HOUR), ShortenTimeLimit) == [(90_000, 0)]

    def test_or_before_its_own_reservation_ends(self) -> None:
        cluster = Cluster().node("n", cpu=1).reservation("exam", start=-60, end=600, on="n")
        cluster = cluster.job("j", cpu=1, limit=HOUR, reservation="exam")
        assert told(cluster, ShortenTimeLimit) == [(600_000, 0)]

    def test_or_before_a_promised_start(self) -> None:
        cluster = (
            Cluster().node("n", cpu=1).job("desk", cpu=1, limit=HOUR, queue="live", submitted=-60, after=1800)
        )
        cluster = with_promise(cluster, "desk", 1800, "n").job("j", cpu=1, limit=HOUR)
        assert told(cluster, ShortenTimeLimit) == [(1_800_000, 0)]

    def test_or_later_but_still_before_them(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=1)
            .running("r", on=["n"], cpu=1, started=0, limit=HOUR)
            .maintenance("disks", start=3 * HOUR, end=4 * HOUR)
        )
        assert told(cluster.job("j", cpu=1, limit=3 * HOUR), ShortenTimeLimit) == [(7_200_000, HOUR)]

    def test_long_limits_are_told_in_full_minutes(self) -> None:
        cluster = Cluster().node("n", cpu=1).maintenance("disks", start=5000, end=9000).job("j", cpu=1)
        assert told(cluster, ShortenTimeLimit) == [(83 * 60_000, 0)]

    def test_a_shorter_job_may_cost_more_an_hour(self) -> None:
        cluster = (
            Cluster()
            .node("n", cpu=1, price=2)
            .job("j", cpu=1, limit=2 * HOUR, template={"max_cost_micro": 3_000_000})
        )
        assert told(cluster, ShortenTimeLimit) == [(90 * 60_000, 0)]


class TestTheCalendar:
    def test_a_change_does_not_let_it_run_into_maintenance(self) -> None:
        cluster = BUSY.maintenance("disks", start=60, end=2 * HOUR, on="a").job("j", cpu=2, limit=2 * HOUR)
        assert told(cluster, AskForLess) == []

    def test_it_does_not_take_what_is_kept_for_those_before_it(self) -> None:
        cluster = BUSY.job("first", cpu=4, limit=HOUR, submitted=-2).job("j", cpu=4, limit=HOUR)
        assert explained(cluster).start_ms == NOW_MS + 2 * HOUR * 1000
        assert told(cluster, AskForLess) == [(1000, 0)]

    def test_those_behind_it_follow(self) -> None:
        cluster = BUSY.job("j", cpu=4, tasks=2, limit=HOUR, submitted=-2).job("next", cpu=4, limit=HOUR)
        assert told(cluster, StartWithFewer) == [(1, HOUR)]

    def test_a_promise_can_be_had_for_an_earlier_time(self) -> None:
        cluster = BUSY.job("j", cpu=4, limit=60, queue="live")
        cluster = with_promise(cluster, "j", HOUR, "b")
        assert explained(cluster).promised
        assert told(cluster, AskForLess) == [(1000, 0)]

    def test_also_in_the_place_of_one_that_can_not_be_kept(self) -> None:
        cluster = with_promise(BUSY.job("j", cpu=4, limit=60, queue="live"), "j", HOUR, "gone")
        assert explained(cluster).promised
        assert told(cluster, AskForLess) == [(1000, 0)]

    def test_not_before_it_is_to_start(self) -> None:
        cluster = BUSY.job("j", cpu=4, tasks=2, limit=60, after=2 * HOUR)
        assert seconds(explained(cluster).start_ms) == 4 * HOUR
        assert told(cluster, StartWithFewer) == [(1, 2 * HOUR)]

    @pytest.mark.parametrize("backfill", [Backfill.NONE, Backfill.EASY])
    def test_who_has_no_claim_to_a_place_is_told_only_what_starts_now(self, backfill: Backfill) -> None:
        rules = policy(queues=(QueuePolicy(backfill=backfill),), preemption=False)
        cluster = BUSY.job("first", cpu=4, tasks=2, limit=HOUR, submitted=-2).job("j", cpu=4, limit=5 * HOUR)
        assert {one.start_ms for one in explained(cluster, rules).remedies} <= {NOW}


class TestNever:
    def test_the_start_is_told_where_it_is_known(self) -> None:
        cluster = BUSY.job("j", cpu=5, limit=60)
        [remedy] = explained(cluster).remedies
        assert (amount(remedy.change), seconds(remedy.start_ms), remedy.starts_on) == (4000, HOUR, ("b",))

    def test_and_else_that_it_is_not(self) -> None:
        cluster = Cluster().node("n", cpu=1).running("r", on=["n"], cpu=1).job("j", cpu=2)
        [remedy] = explained(cluster).remedies
        assert (amount(remedy.change), remedy.start_ms, remedy.starts_on) == (1000, None, ("n",))


# -- and at random


def random_cluster(chance: random.Random) -> Cluster:
    cluster = Cluster()
    names = "abc"[: chance.randrange(1, 4)]
    for name in names:
        cluster = cluster.node(name, cpu=4, labels={"disk": chance.choice(["ssd", "hdd"])})
    for number in range(chance.randrange(4)):
        cluster = cluster.running(
            f"r{number}",
            on=[chance.choice(names)],
            cpu=1,
            started=-60,
            limit=chance.choice([600, HOUR, 5 * HOUR]),
        )
    announce: list[Callable[[Cluster], Cluster]] = [
        lambda one: one.maintenance("disks", start=HOUR, end=2 * HOUR, on=chance.choice(names)),
        lambda one: one.reservation(
            "exam", start=1800, end=3 * HOUR, on=chance.choice(names), tenants=["x"], cpu=2
        ),
        lambda one: one,
    ]
    cluster = chance.choice(announce)(cluster)
    others: list[dict[str, Any]] = [
        {"cpu": chance.choice([1, 3, 4]), "limit": chance.choice([600, 2 * HOUR]), "tasks": 1 + number % 2}
        for number in range(chance.randrange(5))
    ]
    for number, words in enumerate(others):
        cluster = cluster.job(f"o{number}", submitted=chance.choice([-9, 9]), **words)
    words = {
        "cpu": chance.choice([2, 4]),
        "tasks": chance.choice([1, 2]),
        "limit": chance.choice([900, 9000]),
    }
    if chance.random() < 0.3:
        words["selector"] = {"disk": "ssd"}
    return cluster.job("j", **words)


@pytest.mark.parametrize("seed", sampled(range(120), quick=10))
def test_no_start_is_told_too_early_at_random(seed: int) -> None:
    """Deciding anew may find an earlier one, since it then goes before those behind it."""
    cluster = random_cluster(random.Random(seed))
    if "j" not in cluster.plan(POLICY).waiting():
        return
    explanation = explained(cluster)
    for remedy in explanation.remedies:
        if remedy.start_ms is None:
            continue
        start, promised_start = decided(cluster, remedy, POLICY), seconds(remedy.start_ms)
        assert start is not None, remedy
        assert promised_start is not None
        assert start <= promised_start, remedy
        if explanation.start_ms is not None:
            assert remedy.start_ms < explanation.start_ms
