"""What would help: every remedy is tried by making the change and deciding anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from rota.engine.explaining.explain import explain
from rota.model.changes import (
    AskForLess,
    DropInDomains,
    DropJobAffinity,
    DropSpread,
    DropTopology,
    PayMore,
    RaisePriority,
    ShareNodes,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.explanation import Change, Remedy
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, Priority
from rota.model.policy import FairShare, Policy, QueuePolicy, Quota, TenantPolicy
from rota.model.selectors import Selector
from rota.model.task import InDomains
from rota.model.verdict import Kind
from rota.model.vocabulary import members_of
from rota.plugins.gpu_model import AllowGpuModel
from rota.plugins.node_affinity import DropNodeAffinity
from rota.plugins.node_selector import DropNodeSelector, LabelNode
from rota.plugins.pool import AllowPool
from rota.plugins.taints import Tolerate
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster, policy
from tests.kit.sampling import sampled
from tests.unit.engine.explaining.applying import applied
from tests.words import NOW_MS, apart, lie, near, spread, taint, tasks, when

pytestmark = pytest.mark.covers("why-2")

MIB = 1 << 20
STEPS = {"memory": MIB, "storage": MIB, "gpu": 1000}
C = TypeVar("C", bound=Change)


def remedies(cluster: Cluster, rules: Policy | None = None) -> tuple[Remedy, ...]:
    rules = rules or Policy()
    return explain(snapshot_of(cluster.records), rules, NOW_MS, PLUGINS, JobId("j")).remedies


def of_kind(kind: type[C], cluster: Cluster, rules: Policy | None = None) -> list[C]:
    return _of_kind(kind, remedies(cluster, rules))


def _of_kind(kind: type[C], found: Iterable[Remedy]) -> list[C]:
    return [remedy.change for remedy in found if isinstance(remedy.change, kind)]


# -- making the change


def _one_more(change: Change) -> Change | None:
    """The next larger amount; None: it asked for no more."""
    match change:
        case AskForLess(resource, asked, most, of_one_device):
            more = most + (10 if of_one_device else STEPS.get(resource, 1))
            assert most < asked
            return replace(change, most=more) if more < asked else None
        case StartWithFewer(needed, count):
            assert count < needed
            return StartWithFewer(needed, count + 1) if count + 1 < needed else None
        case _:
            return None


def starts(cluster: Cluster, change: Change, rules: Policy | None, never: bool) -> bool:
    """Whether the job starts once the change is made; where it never could, on an idle cluster."""
    changed = applied(cluster, change)
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
        assert starts(cluster, remedy.change, rules, never), remedy
        if not never:
            after = applied(cluster, remedy.change).plan(rules)
            assert sorted(after.places("j")) == sorted(remedy.starts_on), remedy
            assert after.evicts(by="j") == list(remedy.evicts), remedy
        more = _one_more(remedy.change)
        assert more is None or not starts(cluster, more, rules, never), remedy
    return found


# -- one small cluster for each change


def _in_two_zones() -> InDomains:
    return InDomains("zone", 2, Selector((when("app In j"),)))


FULL = Cluster().node("n", cpu=4, memory="8Gi", storage="8Gi", gpus=2, zone="a", extended={"fpga": 3})
BUSY = FULL.running("r", on=["n"], cpu=3, memory="6Gi", gpu=1, devices=[[0]])

CASES: dict[str, tuple[Change, Callable[[], Cluster]]] = {
    "less cpu": (AskForLess("cpu", 2000, 1000), lambda: BUSY.job("j", cpu=2)),
    "less memory": (AskForLess("memory", 3 << 30, 2 << 30), lambda: BUSY.job("j", memory="3Gi")),
    "less storage": (AskForLess("storage", 9 << 30, 8 << 30), lambda: FULL.job("j", storage="9Gi")),
    "fewer GPUs": (AskForLess("gpu", 2000, 1000), lambda: BUSY.job("j", gpu=2)),
    "less of a GPU": (
        AskForLess("gpu", 500, 400, of_one_device=True),
        lambda: FULL.running("r", on=["n", "n"], gpu=0.6, devices=[[0], [1]]).job("j", gpu=0.5),
    ),
    "less of an extended resource": (
        AskForLess("fpga", 3, 2),
        lambda: FULL.running("r", on=["n"], extended={"fpga": 1}).job("j", extended={"fpga": 3}),
    ),
    "a smaller gang": (StartWithFewer(4, 2), lambda: BUSY.job("j", cpu=0.5, tasks=4)),
    "a toleration": (
        Tolerate((taint("x=1:NoSchedule"), taint("y:NoExecute"))),
        lambda: Cluster().node("n", cpu=4, taints=["x=1:NoSchedule", "y:NoExecute"]).job("j", cpu=1),
    ),
    "without a label": (
        DropNodeSelector("disk", "ssd"),
        lambda: FULL.job("j", cpu=1, selector={"disk": "ssd", "zone": "a"}),
    ),
    "a label for a node": (
        LabelNode(NodeName("n"), "disk", "ssd"),
        lambda: FULL.job("j", cpu=1, selector={"disk": "ssd"}),
    ),
    "without a node affinity": (
        DropNodeAffinity(),
        lambda: FULL.job("j", cpu=1, requires=["disk In ssd"]),
    ),
    "another pool": (
        AllowPool("spare"),
        lambda: Cluster().node("n", cpu=4, pool="spare").job("j", cpu=1, spec={"pools": ("p",)}),
    ),
    "another model": (
        AllowGpuModel("A100"),
        lambda: Cluster().node("n", gpus=1, gpu_model="A100").job("j", gpu=1, gpu_models=["H100"]),
    ),
    "without an affinity": (
        DropJobAffinity("zone", near("zone", "app In db").selector.requirements),
        lambda: FULL.job("j", affinity=[near("zone", "app In db")]),
    ),
    "without an anti-affinity": (
        DropJobAffinity("zone", apart("zone", "app In r").selector.requirements),
        lambda: FULL.running("r", on=["n"], labels={"app": "r"}).job(
            "j", affinity=[apart("zone", "app In r")]
        ),
    ),
    "without a spread": (
        DropSpread("zone"),
        lambda: (
            FULL.node("m", zone="b", cordoned=True)
            .running("r", on=["n"], labels={"app": "j"})
            .job("j", labels={"app": "j"}, spread=[spread("zone", "app In j")])
        ),
    ),
    "in any number of domains": (
        DropInDomains("zone", 2),
        lambda: (
            FULL.node("m", zone="b", cordoned=True)
            .running("r", on=["n"], labels={"app": "j"})
            .job("j", labels={"app": "j"}, spec={"in_domains": (_in_two_zones(),)})
        ),
    ),
    "not alone": (ShareNodes(), lambda: BUSY.job("j", cpu=1, spec={"exclusive": True})),
    "a higher price": (
        PayMore(5, 1_000_000),
        lambda: Cluster().node("n", cpu=4, price=4).job("j", cpu=1, spec={"max_price_micro_per_hour": 5}),
    ),
    "without a topology rule": (
        DropTopology("host"),
        lambda: FULL.job("j", tasks=2, topology=[lie("host", "different")]),
    ),
    "a shorter time limit": (
        ShortenTimeLimit(7_200_000, 3_600_000),
        lambda: FULL.maintenance("disks", start=3600, end=7200).job("j", cpu=1, limit=7200),
    ),
    "a higher class": (
        RaisePriority(Priority.LOW, Priority.HIGH),
        lambda: FULL.running("r", on=["n"], cpu=4).job("j", cpu=4, priority="low"),
    ),
}


def test_there_is_a_case_for_every_change_of_the_engine() -> None:
    engines = {kind for kind in members_of(Change).values() if kind.__module__.startswith("rota.model.")}
    assert engines <= {type(change) for change, _ in CASES.values()}


@pytest.mark.parametrize("name", CASES)
def test_the_change_is_found_and_helps(name: str) -> None:
    change, cluster = CASES[name]
    assert change in [remedy.change for remedy in assert_true(cluster())]


# -- each change more closely


class TestAmounts:
    @pytest.mark.parametrize(
        "name",
        [
            "less cpu",
            "less memory",
            "less storage",
            "fewer GPUs",
            "less of a GPU",
            "less of an extended resource",
            "a smaller gang",
            "a shorter time limit",
        ],
    )
    def test_it_is_the_most_with_which_the_job_would_start(self, name: str) -> None:
        change, cluster = CASES[name]
        assert of_kind(type(change), cluster()) == [change]

    def test_of_groups_the_largest_request_is_cut(self) -> None:
        cluster = BUSY.job("j", groups=[tasks(1, cpu=0.5), tasks(1, cpu=2)])
        assert AskForLess("cpu", 2000, 500) in _of_kind(AskForLess, assert_true(cluster))

    def test_memory_is_told_in_whole_mebibytes(self) -> None:
        cluster = Cluster().node("n", memory="1000k").job("j", memory="5Mi")
        assert of_kind(AskForLess, cluster) == []
        cluster = Cluster().node("n", memory="3500k").job("j", memory="5Mi")
        [change] = of_kind(AskForLess, cluster)
        assert change.most == 3 * MIB

    def test_of_groups_the_largest_part_of_a_gpu_is_cut_too(self) -> None:
        parts = Cluster().node("n", gpus=1).job("j", groups=[tasks(1, gpu=0.2), tasks(1, gpu=0.9)])
        [change] = _of_kind(AskForLess, assert_true(parts))
        assert change == AskForLess("gpu", 900, 800, of_one_device=True)
        whole = Cluster().node("n", gpus=3).job("j", groups=[tasks(1, gpu=1), tasks(1, gpu=3)])
        [change] = _of_kind(AskForLess, assert_true(whole))
        assert change == AskForLess("gpu", 3000, 2000)

    def test_nothing_is_offered_that_would_not_be_enough(self) -> None:
        cluster = BUSY.job("j", cpu=2, memory="3Gi")
        assert of_kind(AskForLess, cluster) == []

    def test_what_never_could_is_compared_with_an_idle_cluster(self) -> None:
        [change] = of_kind(AskForLess, BUSY.job("j", cpu=5))
        assert change.most == 4000

    @pytest.mark.covers("prio-5")
    def test_a_quota_leaves_as_much(self) -> None:
        tenant = TenantPolicy("default", quota=Quota((("cpu", 3000),)))
        rules = Policy(fair_share=FairShare(tenants=(tenant,)))
        cluster = Cluster().node("n", cpu=9).running("r", on=["n"], cpu=1).job("j", cpu=3)
        [change] = _of_kind(AskForLess, assert_true(cluster, rules))
        assert change.most == 2000

    @pytest.mark.covers("prio-5")
    def test_what_a_quota_never_allows_is_compared_with_all_of_it(self) -> None:
        tenant = TenantPolicy("default", quota=Quota((("cpu", 3000),)))
        rules = Policy(fair_share=FairShare(tenants=(tenant,)))
        cluster = Cluster().node("n", cpu=9).running("r", on=["n"], cpu=1).job("j", cpu=4)
        [change] = of_kind(AskForLess, cluster, rules)
        assert change.most == 3000


class TestPrice:
    def test_it_is_the_least_that_would_have_to_be_paid(self) -> None:
        cluster = Cluster().node("cheap", cpu=2, price=2).node("dear-and-empty", cpu=16, price=32)
        cluster = cluster.job("j", cpu=1, spec={"max_price_micro_per_hour": 5})
        [change] = _of_kind(PayMore, assert_true(cluster))
        assert change == PayMore(5, 1_000_000)

    def test_it_is_enough_for_every_group(self) -> None:
        limit = {"max_price_micro_per_hour": 5}
        cluster = Cluster().node("n", cpu=4, price=4)
        cluster = cluster.job("j", groups=[tasks(1, cpu=1, spec=limit), tasks(1, cpu=2, spec=limit)])
        [change] = _of_kind(PayMore, assert_true(cluster))
        assert change.price_micro == 2_000_000


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
        found = assert_true(cluster)
        [change] = _of_kind(RaisePriority, found)
        assert [one.evicts for one in found if one.change is change] == [("r",)]
        assert change == RaisePriority(Priority[own.upper()], needed)

    def test_none_where_nobody_is_preempted(self) -> None:
        cluster = FULL.running("r", on=["n"], cpu=4).job("j", cpu=4)
        assert of_kind(RaisePriority, cluster, policy(preemption=False)) == []
        spared = FULL.running("r", on=["n"], cpu=4, template={"preemptible": False}).job("j", cpu=4)
        assert of_kind(RaisePriority, spared) == []


class TestLabels:
    def test_a_label_is_offered_for_the_one_node_that_lacks_it(self) -> None:
        cluster = Cluster().node("a", cpu=1, labels={"disk": "ssd"}).node("b", cpu=4)
        [change] = of_kind(LabelNode, cluster.job("j", cpu=2, selector={"disk": "ssd"}))
        assert change.node == "b"

    def test_for_several_nodes_only_the_job_can_change(self) -> None:
        cluster = Cluster().nodes("a b", cpu=1).job("j", cpu=1, tasks=2, selector={"disk": "ssd"})
        assert of_kind(LabelNode, cluster) == []
        assert len(of_kind(DropNodeSelector, cluster)) == 1

    def test_one_label_of_two_that_lack_is_no_help(self) -> None:
        cluster = FULL.job("j", cpu=1, selector={"disk": "ssd", "rack": "1"})
        assert of_kind(DropNodeSelector, cluster) == []


class TestTolerations:
    def test_one_for_each_set_of_taints_that_would_do(self) -> None:
        cluster = (
            Cluster()
            .node("a", cpu=4, taints=["x:NoSchedule"])
            .node("b", cpu=4, taints=["y=1:NoSchedule"])
            .node("c", cpu=1, taints=["z:NoSchedule"])
            .job("j", cpu=2)
        )
        found = [(one.change, one.starts_on) for one in remedies(cluster) if isinstance(one.change, Tolerate)]
        assert found == [
            (Tolerate((taint("x:NoSchedule"),)), ("a",)),
            (Tolerate((taint("y=1:NoSchedule"),)), ("b",)),
        ]

    @pytest.mark.covers("first-5")
    @pytest.mark.parametrize("nodes", ["ab", "ba"])
    def test_what_asks_for_more_and_helps_no_sooner_is_left_out(self, nodes: str) -> None:
        taints = {"a": ["x:NoSchedule"], "b": ["x:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]}
        cluster = Cluster()
        for name in nodes:
            cluster = cluster.node(name, cpu=1, taints=taints[name])
        assert of_kind(Tolerate, cluster.job("j", cpu=1)) == [Tolerate((taint("x:NoSchedule"),))]
        larger = Cluster().node("a", cpu=1, taints=taints["a"]).node("b", cpu=2, taints=taints["b"])
        [change] = of_kind(Tolerate, larger.job("j", cpu=2))
        assert len(change.taints) == 2

    def test_only_what_is_not_tolerated_yet(self) -> None:
        cluster = Cluster().node("a", cpu=4, taints=["x:NoSchedule", "y:NoSchedule", "z:PreferNoSchedule"])
        [change] = of_kind(Tolerate, cluster.job("j", cpu=1, tolerates=["x"]))
        assert change.taints == (taint("y:NoSchedule"),)


class TestOrder:
    def test_the_smallest_change_comes_first(self) -> None:
        cluster = FULL.running("r", on=["n"], cpu=1).job("j", cpu=3.2)
        found = remedies(cluster.node("t", cpu=4, taints=["x:NoSchedule"]))
        first, second = (one.change for one in found[:2])
        assert isinstance(first, AskForLess)
        assert first.resource == "cpu"
        assert second == Tolerate((taint("x:NoSchedule"),))

    def test_to_give_up_most_of_what_was_asked_is_a_large_change(self) -> None:
        cluster = BUSY.node("t", cpu=4, taints=["x:NoSchedule"]).job("j", cpu=4)
        found = [type(remedy.change) for remedy in remedies(cluster)]
        assert found.index(Tolerate) < found.index(AskForLess)


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


@pytest.mark.parametrize("seed", sampled(range(60), quick=8))
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
    by_half = AskForLess("cpu", 3000, 1500)
    assert template_of(applied(cluster, by_half)).groups[0].spec.requests.cpu_milli == 1500
    assert template_of(applied(cluster, StartWithFewer(2, 1))).min_count == 1
    assert template_of(applied(cluster, DropNodeSelector("disk", "ssd"))).groups[0].spec == (
        template_of(FULL.job("j", cpu=3, tasks=2)).groups[0].spec
    )
    labelled = applied(cluster, LabelNode(NodeName("n"), "disk", "ssd"))
    assert ("disk", "ssd") in labelled.records.nodes[0].spec.labels
