"""Who is next: by age, by priority, or by what tenants have had."""

import random
from typing import Any

import pytest

from rota.engine.order import (
    BY_PRIORITY,
    FIRST_COME,
    Cursor,
    Fair,
    Merged,
    Order,
    Rank,
    effective_priority,
    order_of,
    tenant_path,
)
from rota.engine.tenants.fairshare import Shares
from rota.model.ids import JobId
from rota.model.job import JobTemplate, Priority
from rota.model.policy import (
    FairShare,
    Promotion,
    QueuePolicy,
    QueueStrategy,
    TenantKey,
    TenantLabel,
    TenantPolicy,
)
from rota.snapshot import Snapshot, snapshot_of
from tests.builders import Cluster, policy
from tests.kit.sampling import sampled
from tests.words import NOW_MS, tasks

NEVER = Promotion()


def cursors(snapshot: Snapshot, rank: Rank = BY_PRIORITY, promotion: Promotion = NEVER) -> list[Cursor]:
    return [Cursor(lane, *lane.view(), NOW_MS, promotion, rank) for lane in snapshot.waiting.lanes()]


def served(order: Order, at_once: int = 1) -> list[str]:
    """The jobs in the order in which they come, up to `at_once` of each stretch at a time."""
    found: list[str] = []
    while (stretch := order.next()) is not None:
        count = min(stretch.length, at_once)
        found += [job.id for job in stretch.jobs(count)]
        order.served(stretch, count)
    return found


def merged(cluster: Cluster, at_once: int = 1, **how: Any) -> list[str]:
    return served(Merged(cursors(snapshot_of(cluster.records), **how)), at_once)


MIXED = (
    Cluster()
    .job("low", priority="low", submitted=-50)
    .job("young", cpu=1, submitted=-10)
    .job("old", cpu=2, submitted=-40)
    .job("tie-b", cpu=1, submitted=-20)
    .job("tie-a", cpu=2, submitted=-20)
    .job("urgent", priority="high", submitted=-1)
)


@pytest.mark.covers("decide-8")
class TestMerged:
    def test_first_come_first_and_equals_by_id(self) -> None:
        assert merged(MIXED, rank=FIRST_COME) == ["low", "old", "tie-a", "tie-b", "young", "urgent"]

    def test_by_priority_then_first_come_and_equals_by_id(self) -> None:
        assert merged(MIXED) == ["urgent", "old", "tie-a", "tie-b", "young", "low"]

    @pytest.mark.parametrize("seed", sampled(range(10), quick=3))
    @pytest.mark.parametrize(
        "promotion", [NEVER, Promotion(every_ms=20_000)], ids=["as they are", "with aging"]
    )
    def test_lanes_merge_to_the_order_of_all_their_jobs(self, seed: int, promotion: Promotion) -> None:
        chance = random.Random(seed)
        cluster = Cluster()
        for number in range(40):
            cluster = cluster.job(
                f"j{number}",
                cpu=chance.randrange(1, 4),
                priority=chance.choice(["low", "medium", "high"]),
                submitted=-chance.randrange(60),
            )
        snapshot = snapshot_of(cluster.records)
        jobs = [record.job for record in snapshot.jobs.values()]
        expected = sorted(
            jobs,
            key=lambda job: (
                -effective_priority(job.template, job.retries, NOW_MS - job.submitted_ms, promotion),
                job.submitted_ms,
                job.id,
            ),
        )
        for at_once in (1, 3, 100):
            order = Merged(cursors(snapshot, promotion=promotion))
            assert served(order, at_once) == [job.id for job in expected]

    def test_a_run_is_as_long_as_nobody_comes_between(self) -> None:
        cluster = Cluster()
        for at, (name, cpu) in enumerate([("a", 1), ("b", 1), ("rival", 2), ("c", 1), ("d", 1)]):
            cluster = cluster.job(name, cpu=cpu, submitted=at - 9)
        order = Merged(cursors(snapshot_of(cluster.records)))
        found = []
        while (stretch := order.next()) is not None:
            found.append([job.id for job in stretch.jobs(stretch.length)])
            order.served(stretch, stretch.length)
        assert found == [["a", "b"], ["rival"], ["c", "d"]]

    def test_a_lane_that_is_dropped_does_not_come_again(self) -> None:
        cluster = Cluster().job("a1", cpu=1, submitted=-3).job("b", cpu=2, submitted=-2).job("a2", cpu=1)
        order = Merged(cursors(snapshot_of(cluster.records)))
        stretch = order.next()
        assert stretch is not None
        order.drop(stretch)
        assert served(order) == ["b"]

    def test_none_are_next_where_none_wait(self) -> None:
        assert Merged([]).next() is None


def template(priority: int) -> JobTemplate:
    return JobTemplate((tasks(1, cpu=1),), priority=priority)


@pytest.mark.covers("prio-6")
class TestPromotion:
    @pytest.mark.parametrize(
        ("own", "waited_ms", "up_to", "priority"),
        [
            (Priority.BATCH, 0, Priority.HIGH, Priority.BATCH),
            (Priority.BATCH, 99, Priority.HIGH, Priority.BATCH),
            (Priority.BATCH, 100, Priority.HIGH, Priority.LOW),
            (Priority.BATCH, 200, Priority.HIGH, Priority.MEDIUM),
            (Priority.BATCH, 300, Priority.HIGH, Priority.HIGH),
            (Priority.BATCH, 10**9, Priority.HIGH, Priority.HIGH),
            (Priority.BATCH, 300, Priority.MEDIUM, Priority.MEDIUM),
            (Priority.LOW, 100, Priority.HIGH, Priority.MEDIUM),
            (Priority.HIGH, 300, Priority.HIGH, Priority.HIGH),
            (Priority.CRITICAL, 300, Priority.HIGH, Priority.CRITICAL),
            (-1500, 100, Priority.HIGH, Priority.LOW),
            (500, 100, Priority.HIGH, Priority.HIGH),
            (Priority.MEDIUM, 100, 700, 700),
            (Priority.LOW, -50, Priority.HIGH, Priority.LOW),
        ],
    )
    def test_one_class_for_each_time_waited_up_to_where_the_policy_says(
        self, own: int, waited_ms: int, up_to: int, priority: int
    ) -> None:
        promotion = Promotion(every_ms=100, up_to=up_to)
        assert effective_priority(template(own), 0, waited_ms, promotion) == priority

    @pytest.mark.parametrize(("retries", "priority"), [(0, -1000), (2, -1000), (3, 1000), (9, 1000)])
    def test_at_once_when_the_retries_are_used_up(self, retries: int, priority: int) -> None:
        assert effective_priority(template(-1000), retries, 0, Promotion(retry_budget=3)) == priority

    @pytest.mark.parametrize("own", [-2000, -1700, -1000, 0, 300, 1000, 5000])
    @pytest.mark.parametrize("up_to", [-500, 0, 700, 1000])
    def test_it_never_falls_as_a_job_waits_and_retries(self, own: int, up_to: int) -> None:
        promotion = Promotion(every_ms=10, retry_budget=4, up_to=up_to)
        by_time = [effective_priority(template(own), 0, waited, promotion) for waited in range(0, 80, 3)]
        by_retry = [effective_priority(template(own), retries, 25, promotion) for retries in range(7)]
        assert by_time == sorted(by_time)
        assert by_retry == sorted(by_retry)
        assert min(by_time) == own
        assert max(by_time) <= max(own, up_to)

    @pytest.mark.parametrize("waited", range(0, 60, 7))
    def test_of_two_that_waited_alike_the_lower_never_passes_the_higher(self, waited: int) -> None:
        promotion = Promotion(every_ms=10)
        risen = [effective_priority(template(own), 0, waited, promotion) for own in range(-2500, 1500, 130)]
        assert risen == sorted(risen)

    def test_who_waited_longest_of_a_lane_comes_first(self) -> None:
        cluster = (
            Cluster().job("aged", priority="low", submitted=-25).job("fresh", priority="medium", submitted=-1)
        )
        aging = Promotion(every_ms=10_000)
        assert merged(cluster) == ["fresh", "aged"]
        assert merged(cluster, promotion=aging) == ["aged", "fresh"]

    def test_runs_of_a_lane_end_where_its_younger_jobs_are_of_a_lower_class(self) -> None:
        cluster = (
            Cluster()
            .job("aged", priority="low", submitted=-15)
            .job("fresh", priority="low", submitted=-5)
            .job("rival", priority="medium", submitted=-9)
        )
        assert merged(cluster, at_once=9, promotion=Promotion(every_ms=10_000)) == ["aged", "rival", "fresh"]


def fair(
    cluster: Cluster, key: TenantKey | TenantLabel = TenantKey.PROJECT_USER, **weights: int
) -> tuple[Fair, Shares, Snapshot]:
    snapshot = snapshot_of(cluster.records)
    tenants = tuple(TenantPolicy(path.replace("__", "/"), weight) for path, weight in weights.items())
    labels = (key,) if isinstance(key, TenantLabel) else ()
    shares = Shares(snapshot, FairShare(tenants=tenants), NOW_MS, labels)
    return Fair(cursors(snapshot), key, shares), shares, snapshot


def served_and_charged(order: Fair, shares: Shares, snapshot: Snapshot) -> list[str]:
    found: list[str] = []
    while (stretch := order.next()) is not None:
        assert stretch.length == 1
        job = stretch.head
        found.append(job.id)
        shares.charge(job.template, snapshot.demand(job.template.groups[0].spec).take, 1)
        order.served(stretch, 1)
    return found


def owned(cluster: Cluster, project: str, user: str, *names: str, cpu: int = 1, **words: Any) -> Cluster:
    for name in names:
        cluster = cluster.job(name, cpu=cpu, template={"project": project, "user": user}, **words)
    return cluster


@pytest.mark.covers("decide-8", "prio-5")
class TestFair:
    NODE = Cluster().node("n", cpu=100)

    def test_who_has_least_comes_next(self) -> None:
        cluster = owned(owned(self.NODE, "p", "u", "p1", "p2", "p3"), "q", "u", "q1", "q2")
        assert served_and_charged(*fair(cluster)) == ["p1", "q1", "p2", "q2", "p3"]

    def test_twice_the_weight_is_twice_the_turns(self) -> None:
        cluster = owned(owned(self.NODE, "p", "u", *"abcdef"), "q", "u", *"uvwxyz")
        found = served_and_charged(*fair(cluster, p=2))
        assert sorted(found[:6]) == ["a", "b", "c", "d", "u", "v"]

    def test_who_takes_more_at_a_time_has_fewer_turns(self) -> None:
        cluster = owned(owned(self.NODE, "p", "u", *"ab", cpu=4), "q", "u", *"stuvwxyz")
        assert served_and_charged(*fair(cluster)) == ["a", "s", "t", "u", "v", "b", "w", "x", "y", "z"]

    def test_projects_are_compared_first_then_the_users_within(self) -> None:
        cluster = owned(self.NODE, "p", "ada", "p-ada-1", "p-ada-2")
        cluster = owned(cluster, "p", "bob", "p-bob-1")
        cluster = owned(cluster, "q", "eve", "q-eve-1", "q-eve-2", "q-eve-3")
        assert served_and_charged(*fair(cluster)) == [
            "p-ada-1",
            "q-eve-1",
            "p-bob-1",
            "q-eve-2",
            "p-ada-2",
            "q-eve-3",
        ]

    def test_users_come_by_their_share_then_by_name_whatever_order_they_came_in(self) -> None:
        cluster = self.NODE.running("r", on=["n"], cpu=2, template={"project": "p", "user": "eve"})
        for user in ("zoe", "eve", "ada"):
            cluster = owned(cluster, "p", user, f"{user}-1", f"{user}-2")
        assert served_and_charged(*fair(cluster)) == ["ada-1", "zoe-1", "ada-2", "zoe-2", "eve-1", "eve-2"]

    def test_what_runs_counts(self) -> None:
        cluster = self.NODE.running("r", on=["n"], cpu=2, template={"project": "p"})
        cluster = owned(owned(cluster, "p", "u", "p1"), "q", "u", "q1", "q2", "q3")
        assert served_and_charged(*fair(cluster)) == ["q1", "q2", "p1", "q3"]

    def test_within_a_tenant_it_is_priority_then_age(self) -> None:
        cluster = owned(self.NODE, "p", "u", "low", priority="low", submitted=-9)
        cluster = owned(cluster, "p", "u", "young", submitted=-1)
        cluster = owned(cluster, "p", "u", "old", submitted=-5)
        assert served_and_charged(*fair(cluster)) == ["old", "young", "low"]

    @pytest.mark.parametrize(
        ("key", "path"),
        [
            (TenantKey.PROJECT, ("p",)),
            (TenantKey.USER, ("u",)),
            (TenantKey.PROJECT_USER, ("p", "u")),
        ],
    )
    def test_a_tenant_is_a_project_a_user_or_a_user_of_a_project(
        self, key: TenantKey, path: tuple[str, ...]
    ) -> None:
        assert tenant_path(JobTemplate((tasks(1, cpu=1),), project="p", user="u"), key)[-len(path) :] == path

    def test_a_user_of_several_projects_is_one_tenant_where_users_are_compared(self) -> None:
        cluster = owned(owned(self.NODE, "p", "ada", "a1"), "q", "ada", "a2")
        cluster = owned(cluster, "q", "bob", "b1", "b2")
        assert served_and_charged(*fair(cluster, TenantKey.USER)) == ["a1", "b1", "a2", "b2"]

    @pytest.mark.covers("kube-11")
    def test_tenants_by_a_label_whatever_their_project(self) -> None:
        cluster = self.NODE
        for name, project, team in (
            ("r1", "p", "red"),
            ("r2", "q", "red"),
            ("b1", "p", "blue"),
            ("n1", "p", ""),
        ):
            labels = {"labels": (("team", team),)} if team else {}
            cluster = cluster.job(name, cpu=1, template={"project": project, **labels})
        team_label = TenantLabel("team")
        assert served_and_charged(*fair(cluster, team_label)) == ["n1", "b1", "r1", "r2"]
        cluster = cluster.running("r", on=["n"], cpu=9, template={"labels": (("team", "blue"),)})
        assert served_and_charged(*fair(cluster, team_label)) == ["n1", "r1", "r2", "b1"]
        assert served_and_charged(*fair(cluster, team_label, blue=100)) == ["n1", "r1", "b1", "r2"]

    @pytest.mark.covers("kube-11")
    def test_tenants_by_namespace(self) -> None:
        cluster = self.NODE.running("r", on=["n"], cpu=2, template={"namespace": "a"})
        for name in ("a", "b"):
            cluster = cluster.job(f"{name}1", cpu=1, template={"namespace": name, "project": "p"})
        assert served_and_charged(*fair(cluster, TenantLabel("namespace"))) == ["b1", "a1"]

    def test_a_user_who_is_named_like_a_project_is_another_tenant(self) -> None:
        cluster = self.NODE.running("r", on=["n"], cpu=50, template={"project": "a", "user": "ops"})
        cluster = owned(cluster, "b", "u", "b1", "b2", cpu=10)
        cluster = owned(cluster, "ops", "u", "ops1", "ops2", cpu=10)
        assert served_and_charged(*fair(cluster, TenantKey.PROJECT)) == ["b1", "ops1", "b2", "ops2"]

    def test_a_weight_of_a_project_is_none_of_a_user_of_that_name(self) -> None:
        cluster = owned(self.NODE, "p", "ada", "a1", "a2", "a3")
        cluster = owned(cluster, "p", "bob", "b1", "b2", "b3")
        assert served_and_charged(*fair(cluster, TenantKey.USER, bob=9)) == [
            "a1",
            "b1",
            "a2",
            "b2",
            "a3",
            "b3",
        ]

    def test_a_tenant_that_cannot_start_does_not_hold_up_the_others(self) -> None:
        cluster = owned(owned(self.NODE, "p", "u", "p1", "p2"), "q", "u", "q1")
        order, shares, snapshot = fair(cluster)
        stretch = order.next()
        assert stretch is not None
        assert stretch.head.id == "p1"
        order.drop(stretch)
        assert served_and_charged(order, shares, snapshot) == ["q1"]

    def test_who_lost_something_to_an_eviction_is_served_sooner(self) -> None:
        cluster = self.NODE
        for project in "pqr":
            cluster = cluster.running(f"run-{project}", on=["n"], cpu=10, template={"project": project})
            cluster = owned(cluster, project, "u", f"{project}1", f"{project}2")
        order, shares, snapshot = fair(cluster)
        stretch = order.next()
        assert stretch is not None
        assert stretch.head.id == "p1"
        victim = snapshot.jobs[JobId("run-r")].job.template
        shares.charge(victim, snapshot.demand(victim.groups[0].spec).take, -1)
        order.served(stretch, 1)
        following = order.next()
        assert following is not None
        assert following.head.id == "r1"


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [(QueueStrategy.FIFO, Merged), (QueueStrategy.PRIORITY, Merged), (QueueStrategy.FAIR, Fair)],
)
def test_each_strategy_has_its_order(strategy: QueueStrategy, kind: type) -> None:
    snapshot = snapshot_of(MIXED.records)
    shares = Shares(snapshot, FairShare(), NOW_MS)
    assert isinstance(order_of(cursors(snapshot), QueuePolicy(strategy=strategy), shares), kind)


def test_where_small_jobs_go_first_a_large_one_that_waited_long_enough_goes_before_them() -> None:
    smallest = policy(queues=(QueuePolicy(strategy=QueueStrategy.SMALLEST),))
    cluster = Cluster().node("n", cpu=4)
    new = cluster.job("large", cpu=4, limit=7200).job("small", cpu=4, limit=3600)
    assert new.plan(smallest).places("small") == ["n"]
    old = cluster.job("large", cpu=4, limit=7200, submitted=-3601).job("small", cpu=4, limit=3600)
    assert old.plan(smallest).places("large") == ["n"]
