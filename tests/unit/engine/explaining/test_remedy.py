"""What would help: every remedy is tried by making the change and deciding anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rota.engine.explaining.explain import explain
from rota.model.explanation import Change, Remedy
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, Priority
from rota.model.policy import FairShare, Policy, QueuePolicy, Quota, TenantPolicy
from rota.model.verdict import Kind
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.unit.engine.explaining.applying import applied
from tests.words import NOW_MS, apart, lie, near, spread, tasks

pytestmark = pytest.mark.covers("why-2")

MIB = 1 << 20
STEPS = {"memory": MIB, "storage": MIB, "gpu": 1000, "gpu share": 10}


def remedies(cluster: Cluster, rules: Policy | None = None) -> tuple[Remedy, ...]:
    rules = rules or Policy()
    return explain(snapshot_of(cluster.records), rules, NOW_MS, PLUGINS, JobId("j")).remedies


def of_kind(change: Change, cluster: Cluster, rules: Policy | None = None) -> list[Remedy]:
    return [remedy for remedy in remedies(cluster, rules) if remedy.change is change]


# -- making the change


def starts(cluster: Cluster, remedy: Remedy, rules: Policy | None, never: bool) -> bool:
    """Whether the job starts once the change is made; where it never could, on an idle cluster."""
    changed = applied(cluster, remedy)
    if never:
        own = tuple(record for record in changed.records.jobs if record.job.id == "j")
        changed = Cluster(replace(changed.records, jobs=own))
    return bool(changed.plan(rules).places("j"))


def assert_true(cluster: Cluster, rules: Policy | None = None) -> tuple[Remedy, ...]:
    """Every remedy lets it start now, as it says, and amounts are the most with which it does."""
    planned = cluster.plan(rules)
    never = planned.waits("j").kind is Kind.NEVER
    found = remedies(cluster, rules)
    for remedy in found:
        assert starts(cluster, remedy, rules, never), remedy
        if not never:
            after = applied(cluster, remedy).plan(rules)
            assert sorted(after.places("j")) == sorted(remedy.starts_on), remedy
            assert after.evicts(by="j") == list(remedy.evicts), remedy
        if remedy.change in (Change.RESOURCE, Change.GANG_SIZE):
            more = remedy.amount + STEPS.get(remedy.subject, 1)
            assert remedy.amount < remedy.asked
            if more < remedy.asked:
                assert not starts(cluster, replace(remedy, amount=more), rules, never), remedy
    return found


# -- one small cluster for each change

FULL = Cluster().node("n", cpu=4, memory="8Gi", storage="8Gi", gpus=2, zone="a", extended={"fpga": 3})
BUSY = FULL.running("r", on=["n"], cpu=3, memory="6Gi", gpu=1, devices=[[0]])

CASES: dict[str, tuple[Change, str, Callable[[], Cluster]]] = {
    "less cpu": (Change.RESOURCE, "cpu", lambda: BUSY.job("j", cpu=2)),
    "less memory": (Change.RESOURCE, "memory", lambda: BUSY.job("j", memory="3Gi")),
    "less storage": (Change.RESOURCE, "storage", lambda: FULL.job("j", storage="9Gi")),
    "fewer GPUs": (Change.RESOURCE, "gpu", lambda: BUSY.job("j", gpu=2)),
    "less of a GPU": (
        Change.RESOURCE,
        "gpu share",
        lambda: FULL.running("r", on=["n", "n"], gpu=0.6, devices=[[0], [1]]).job("j", gpu=0.5),
    ),
    "less of an extended resource": (
        Change.RESOURCE,
        "fpga",
        lambda: FULL.running("r", on=["n"], extended={"fpga": 1}).job("j", extended={"fpga": 3}),
    ),
    "a smaller gang": (Change.GANG_SIZE, "", lambda: BUSY.job("j", cpu=0.5, tasks=4)),
    "a toleration": (
        Change.TOLERATION,
        "x=1:NoSchedule, y:NoExecute",
        lambda: Cluster().node("n", cpu=4, taints=["x=1:NoSchedule", "y:NoExecute"]).job("j", cpu=1),
    ),
    "without a label": (
        Change.NODE_SELECTOR,
        "disk=ssd",
        lambda: FULL.job("j", cpu=1, selector={"disk": "ssd", "zone": "a"}),
    ),
    "a label for a node": (
        Change.NODE_LABEL,
        "disk=ssd",
        lambda: FULL.job("j", cpu=1, selector={"disk": "ssd"}),
    ),
    "without a node affinity": (
        Change.NODE_AFFINITY,
        "",
        lambda: FULL.job("j", cpu=1, requires=["disk In ssd"]),
    ),
    "another pool": (
        Change.POOL,
        "spare",
        lambda: Cluster().node("n", cpu=4, pool="spare").job("j", cpu=1, spec={"pools": ("p",)}),
    ),
    "another model": (
        Change.GPU_MODEL,
        "A100",
        lambda: Cluster().node("n", gpus=1, gpu_model="A100").job("j", gpu=1, gpu_models=["H100"]),
    ),
    "without an affinity": (
        Change.JOB_AFFINITY,
        "zone: app In db",
        lambda: FULL.job("j", affinity=[near("zone", "app In db")]),
    ),
    "without an anti-affinity": (
        Change.JOB_AFFINITY,
        "zone: app In r",
        lambda: FULL.running("r", on=["n"], labels={"app": "r"}).job(
            "j", affinity=[apart("zone", "app In r")]
        ),
    ),
    "without a spread": (
        Change.JOB_AFFINITY,
        "spread over zone",
        lambda: (
            FULL.node("m", zone="b", cordoned=True)
            .running("r", on=["n"], labels={"app": "j"})
            .job("j", labels={"app": "j"}, spread=[spread("zone", "app In j")])
        ),
    ),
    "not alone": (Change.EXCLUSIVE, "", lambda: BUSY.job("j", cpu=1, spec={"exclusive": True})),
    "a higher price": (
        Change.PRICE,
        "",
        lambda: Cluster().node("n", cpu=4, price=4).job("j", cpu=1, spec={"max_price_micro_per_hour": 5}),
    ),
    "without a topology rule": (
        Change.TOPOLOGY,
        "host",
        lambda: FULL.job("j", tasks=2, topology=[lie("host", "different")]),
    ),
    "a shorter time limit": (
        Change.TIME_LIMIT,
        "",
        lambda: FULL.maintenance("disks", start=3600, end=7200).job("j", cpu=1, limit=7200),
    ),
    "a higher class": (
        Change.PRIORITY,
        "",
        lambda: FULL.running("r", on=["n"], cpu=4).job("j", cpu=4, priority="low"),
    ),
}


def test_there_is_a_case_for_every_change() -> None:
    assert {change for change, _, _ in CASES.values()} == set(Change)


@pytest.mark.parametrize("name", CASES)
def test_the_change_is_found_and_helps(name: str) -> None:
    change, subject, cluster = CASES[name]
    found = assert_true(cluster())
    assert (change, subject) in {(remedy.change, remedy.subject) for remedy in found}


# -- each change more closely


class TestAmounts:
    @pytest.mark.parametrize(
        ("name", "asked", "amount"),
        [
            ("less cpu", 2000, 1000),
            ("less memory", 3 << 30, 2 << 30),
            ("less storage", 9 << 30, 8 << 30),
            ("fewer GPUs", 2000, 1000),
            ("less of a GPU", 500, 400),
            ("less of an extended resource", 3, 2),
            ("a smaller gang", 4, 2),
            ("a shorter time limit", 7_200_000, 3_600_000),
        ],
    )
    def test_it_is_the_most_with_which_the_job_would_start(self, name: str, asked: int, amount: int) -> None:
        change, _, cluster = CASES[name]
        [remedy] = of_kind(change, cluster())
        assert (remedy.asked, remedy.amount) == (asked, amount)

    def test_of_groups_the_largest_request_is_cut(self) -> None:
        cluster = BUSY.job("j", groups=[tasks(1, cpu=0.5), tasks(1, cpu=2)])
        [remedy] = [one for one in assert_true(cluster) if one.subject == "cpu"]
        assert (remedy.asked, remedy.amount) == (2000, 500)

    def test_memory_is_told_in_whole_mebibytes(self) -> None:
        cluster = Cluster().node("n", memory="1000k").job("j", memory="5Mi")
        assert of_kind(Change.RESOURCE, cluster) == []
        cluster = Cluster().node("n", memory="3500k").job("j", memory="5Mi")
        [remedy] = of_kind(Change.RESOURCE, cluster)
        assert remedy.amount == 3 * MIB

    def test_of_groups_the_largest_part_of_a_gpu_is_cut_too(self) -> None:
        parts = Cluster().node("n", gpus=1).job("j", groups=[tasks(1, gpu=0.2), tasks(1, gpu=0.9)])
        [remedy] = [one for one in assert_true(parts) if one.change is Change.RESOURCE]
        assert (remedy.subject, remedy.asked, remedy.amount) == ("gpu share", 900, 800)
        whole = Cluster().node("n", gpus=3).job("j", groups=[tasks(1, gpu=1), tasks(1, gpu=3)])
        [remedy] = [one for one in assert_true(whole) if one.change is Change.RESOURCE]
        assert (remedy.subject, remedy.asked, remedy.amount) == ("gpu", 3000, 2000)

    def test_nothing_is_offered_that_would_not_be_enough(self) -> None:
        cluster = BUSY.job("j", cpu=2, memory="3Gi")
        assert of_kind(Change.RESOURCE, cluster) == []

    def test_what_never_could_is_compared_with_an_idle_cluster(self) -> None:
        [remedy] = of_kind(Change.RESOURCE, BUSY.job("j", cpu=5))
        assert remedy.amount == 4000

    @pytest.mark.covers("prio-5")
    def test_a_quota_leaves_as_much(self) -> None:
        tenant = TenantPolicy("default", quota=Quota((("cpu", 3000),)))
        rules = Policy(fair_share=FairShare(tenants=(tenant,)))
        cluster = Cluster().node("n", cpu=9).running("r", on=["n"], cpu=1).job("j", cpu=3)
        [remedy] = [one for one in assert_true(cluster, rules) if one.change is Change.RESOURCE]
        assert remedy.amount == 2000

    @pytest.mark.covers("prio-5")
    def test_what_a_quota_never_allows_is_compared_with_all_of_it(self) -> None:
        tenant = TenantPolicy("default", quota=Quota((("cpu", 3000),)))
        rules = Policy(fair_share=FairShare(tenants=(tenant,)))
        cluster = Cluster().node("n", cpu=9).running("r", on=["n"], cpu=1).job("j", cpu=4)
        [remedy] = of_kind(Change.RESOURCE, cluster, rules)
        assert remedy.amount == 3000


class TestPrice:
    def test_it_is_the_least_that_would_have_to_be_paid(self) -> None:
        cluster = Cluster().node("cheap", cpu=2, price=2).node("dear-and-empty", cpu=16, price=32)
        cluster = cluster.job("j", cpu=1, spec={"max_price_micro_per_hour": 5})
        [remedy] = [one for one in assert_true(cluster) if one.change is Change.PRICE]
        assert (remedy.asked, remedy.amount) == (5, 1_000_000)

    def test_it_is_enough_for_every_group(self) -> None:
        limit = {"max_price_micro_per_hour": 5}
        cluster = Cluster().node("n", cpu=4, price=4)
        cluster = cluster.job("j", groups=[tasks(1, cpu=1, spec=limit), tasks(1, cpu=2, spec=limit)])
        [remedy] = [one for one in assert_true(cluster) if one.change is Change.PRICE]
        assert remedy.amount == 2_000_000


class TestPriority:
    @pytest.mark.parametrize(
        ("own", "victim", "needed"),
        [
            ("batch", "batch", Priority.MEDIUM),
            ("low", "medium", Priority.HIGH),
            ("medium", "high", Priority.CRITICAL),
        ],
    )
    def test_it_is_the_lowest_class_that_may_preempt(self, own: str, victim: str, needed: Priority) -> None:
        cluster = FULL.running("r", on=["n"], cpu=4, priority=victim).job("j", cpu=4, priority=own)
        [remedy] = [one for one in assert_true(cluster) if one.change is Change.PRIORITY]
        assert (remedy.asked, remedy.amount) == (Priority[own.upper()], needed)
        assert remedy.evicts == ("r",)

    def test_none_where_nobody_is_preempted(self) -> None:
        cluster = FULL.running("r", on=["n"], cpu=4).job("j", cpu=4)
        assert of_kind(Change.PRIORITY, cluster, policy(preemption=False)) == []
        spared = FULL.running("r", on=["n"], cpu=4, template={"preemptible": False}).job("j", cpu=4)
        assert of_kind(Change.PRIORITY, spared) == []


class TestLabels:
    def test_a_label_is_offered_for_the_one_node_that_lacks_it(self) -> None:
        cluster = Cluster().node("a", cpu=1, labels={"disk": "ssd"}).node("b", cpu=4)
        [remedy] = of_kind(Change.NODE_LABEL, cluster.job("j", cpu=2, selector={"disk": "ssd"}))
        assert remedy.node == "b"

    def test_for_several_nodes_only_the_job_can_change(self) -> None:
        cluster = Cluster().nodes("a b", cpu=1).job("j", cpu=1, tasks=2, selector={"disk": "ssd"})
        assert of_kind(Change.NODE_LABEL, cluster) == []
        assert len(of_kind(Change.NODE_SELECTOR, cluster)) == 1

    def test_one_label_of_two_that_lack_is_no_help(self) -> None:
        cluster = FULL.job("j", cpu=1, selector={"disk": "ssd", "rack": "1"})
        assert of_kind(Change.NODE_SELECTOR, cluster) == []


class TestTolerations:
    def test_one_for_each_set_of_taints_that_would_do(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=4, taints=["x:NoSchedule"])
            .node("b", cpu=4, taints=["y=1:NoSchedule"])
            .node("c", cpu=1, taints=["z:NoSchedule"])
            .job("j", cpu=2)
        )
        found = {remedy.subject: remedy.starts_on for remedy in of_kind(Change.TOLERATION, cluster)}
        assert found == {"x:NoSchedule": ("a",), "y=1:NoSchedule": ("b",)}

    def test_only_what_is_not_tolerated_yet(self) -> None:
        cluster = Cluster().node("a", cpu=4, taints=["x:NoSchedule", "y:NoSchedule", "z:PreferNoSchedule"])
        [remedy] = of_kind(Change.TOLERATION, cluster.job("j", cpu=1, tolerates=["x"]))
        assert remedy.subject == "y:NoSchedule"


class TestOrder:
    def test_the_smallest_change_comes_first(self) -> None:
        cluster = FULL.running("r", on=["n"], cpu=1).job("j", cpu=3.2)
        found = remedies(cluster.node("t", cpu=4, taints=["x:NoSchedule"]))
        assert [(one.change, one.subject) for one in found][:2] == [
            (Change.RESOURCE, "cpu"),
            (Change.TOLERATION, "x:NoSchedule"),
        ]

    def test_to_give_up_most_of_what_was_asked_is_a_large_change(self) -> None:
        cluster = BUSY.node("t", cpu=4, taints=["x:NoSchedule"]).job("j", cpu=4)
        found = [remedy.change for remedy in remedies(cluster)]
        assert found.index(Change.TOLERATION) < found.index(Change.RESOURCE)


class TestNone:
    @pytest.mark.parametrize(
        ("cluster", "rules"),
        [
            (FULL.job("j", template={"connect_to": "nobody"}), None),
            (Cluster().job("j", cpu=1), None),
            (
                FULL.job("first", cpu=9, submitted=-9).job("j", cpu=1),
                policy(queues=(QueuePolicy(strict=True),)),
            ),
            (FULL.queue("default", "paused").job("j", cpu=5), None),
            (FULL.queue("default", "closed", since=-1).job("j", cpu=1), None),
            (BUSY.job("j", cpu=2, submitted=-61, template={"start_within_ms": 60_000}), None),
            (BUSY.job("j", cpu=2, before=-1), None),
            (
                FULL.reservation("course", start=0, end=60, on="n", tenants=["x"]).job(
                    "j", cpu=1, reservation="course"
                ),
                None,
            ),
            (FULL.job("j", cpu=1, after=60), None),
        ],
        ids=[
            "a partner",
            "no nodes",
            "a strict queue",
            "a paused queue",
            "a closed queue",
            "too late for its SLA",
            "too late for its period",
            "somebody else's reservation",
            "too early",
        ],
    )
    def test_where_it_is_not_the_job_that_would_have_to_change(
        self, cluster: Cluster, rules: Policy | None
    ) -> None:
        assert remedies(cluster, rules) == ()


# -- and at random


def random_cluster(chance: random.Random) -> Cluster:
    cluster = Cluster()
    for number in range(chance.randrange(1, 5)):
        cluster = cluster.node(
            f"n{number}",
            cpu=chance.choice([2, 4]),
            memory=f"{chance.choice([2, 8])}Gi",
            gpus=chance.choice([0, 0, 2]),
            gpu_model="A100",
            pool=chance.choice(["default", "spare"]),
            price=chance.choice([0, 2]),
            taints=chance.choice([[], [], ["x=1:NoSchedule"]]),
            labels={"zone": chance.choice("ab"), "disk": chance.choice(["ssd", "hdd"])},
            cordoned=chance.random() < 0.1,
        )
    names = [node.name for node in cluster.records.nodes]
    for number in range(chance.randrange(4)):
        cluster = cluster.running(
            f"r{number}",
            on=[chance.choice(names)],
            cpu=1,
            labels={"app": chance.choice(["db", "web"])},
            priority=chance.choice(["batch", "low", "medium"]),
            template={"preemptible": chance.random() < 0.8},
        )
    words: dict[str, Any] = {
        "cpu": chance.choice([1, 2, 5]),
        "memory": chance.choice(["0", "1Gi", "9Gi"]),
        "tasks": chance.choice([1, 1, 2, 4]),
        "priority": chance.choice(["low", "medium"]),
        "labels": {"app": "web"},
    }
    spec: dict[str, Any] = {}
    optional: list[Callable[[], None]] = [
        lambda: words.update(gpu=chance.choice([1, 3, 0.5]), gpu_models=chance.choice([[], ["H100"]])),
        lambda: words.update(selector={"disk": "ssd"}),
        lambda: words.update(requires=["disk In tape"]),
        lambda: words.update(affinity=[near("zone", "app In db")]),
        lambda: words.update(affinity=[apart("host", "app In web")]),
        lambda: words.update(spread=[spread("zone", "app In web")]),
        lambda: words.update(topology=[lie("zone", chance.choice(["same", "different"]))]),
        lambda: spec.update(exclusive=True),
        lambda: spec.update(pools=("spare",)),
        lambda: spec.update(max_price_micro_per_hour=100_000),
    ]
    for _ in range(chance.randrange(3)):
        chance.choice(optional)()
    return cluster.job("j", spec=spec, **words)


@pytest.mark.parametrize("seed", range(60))
def test_every_remedy_of_a_random_cluster_is_true(seed: int) -> None:
    cluster = random_cluster(random.Random(seed))
    if "j" in cluster.plan().waiting():
        assert_true(cluster)


def template_of(cluster: Cluster) -> JobTemplate:
    [record] = [record for record in cluster.records.jobs if record.job.id == "j"]
    return record.job.template


def test_a_change_that_is_made_by_hand_is_the_one_that_was_meant() -> None:
    """The tests above are worth as much as `applied`."""
    cluster = FULL.job("j", cpu=3, tasks=2, selector={"disk": "ssd"})
    by_half = Remedy(Change.RESOURCE, "cpu", 3000, 1500)
    assert template_of(applied(cluster, by_half)).groups[0].spec.requests.cpu_milli == 1500
    assert template_of(applied(cluster, Remedy(Change.GANG_SIZE, "", 2, 1))).min_count == 1
    assert template_of(applied(cluster, Remedy(Change.NODE_SELECTOR, "disk=ssd"))).groups[0].spec == (
        template_of(FULL.job("j", cpu=3, tasks=2)).groups[0].spec
    )
    labelled = applied(cluster, Remedy(Change.NODE_LABEL, "disk=ssd", node=NodeName("n")))
    assert ("disk", "ssd") in labelled.records.nodes[0].spec.labels
