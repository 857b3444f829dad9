"""Why a job waits: every reason in a small cluster, each node counted once, never or not now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rota.engine.plugin import NodeView, Plugin, Plugins, TaskView
from rota.model.ids import NodeName
from rota.model.job import ArrayLimit, JobRecord, Placement, Promise
from rota.model.limits import Limits, LimitsPolicy
from rota.model.policy import (
    FairShare,
    PluginConfig,
    Policy,
    QueuePolicy,
    Quota,
    SchedulerPolicy,
    TenantPolicy,
)
from rota.model.reasons import (
    ArrayLimitReached,
    AwaitsPartner,
    BehindInStrictQueue,
    BeyondCapacity,
    BeyondLimit,
    BeyondQuota,
    ClaimInUse,
    DiskTaken,
    EvictedByTaint,
    EvictedForMaintenance,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutBeyondCapacity,
    LayoutLacksRoom,
    LimitReached,
    MaintenanceAhead,
    MemoryInUse,
    NobodyToEvict,
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoScheduler,
    NoSpaceForVolume,
    NotReservedFor,
    NoVolumeToBind,
    OtherDomains,
    OutsideReservation,
    PeriodMissed,
    PortTaken,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    RefusedByPlugin,
    RoomPlanned,
    RoomReserved,
    RunningAntiAffinity,
    SlaMissed,
    SpreadUneven,
    TooEarly,
    TooFewDomains,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
    WasPreempted,
)
from rota.model.resources import WHOLE_DISK, HostPort
from rota.model.selectors import Selector
from rota.model.task import InDomains, VolumeNodes, VolumeTrouble, one_at_a_time
from rota.model.verdict import Kind, Reason, Refusal, Unblock, Verdict
from rota.model.vocabulary import code_of, members_of
from rota.plugins import FILTERS, SCORES
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.memory import MemoryFull
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.pool import NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from tests.builders import Cluster, policy
from tests.reference.waiting import NOT_ABOUT_NODES
from tests.words import NOW_MS, apart, job, lie, near, spread, tasks, when

pytestmark = pytest.mark.covers("why-1")

ONE = Cluster().node("n", cpu=4, memory="8Gi", gpus=1, zone="a")
TWO = Cluster().nodes("m n", cpu=4)
PRESSURE = "node.kubernetes.io/disk-pressure"


class Grumpy(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        return "no"


PLUGINS = Plugins(FILTERS, SCORES, {"grumpy": Grumpy})


def quota(cpu: int) -> Policy:
    tenant = TenantPolicy("default", quota=Quota((("cpu", cpu * 1000),)))
    return Policy(fair_share=FairShare(tenants=(tenant,)))


def limit(cpu: int) -> Policy:
    return Policy(limits=LimitsPolicy(default=Limits(at_once=(("cpu", cpu * 1000),))))


def alone(cluster: Cluster, **words: Any) -> Cluster:
    return cluster.job("j", **words)


def for_one(claim: str) -> dict[str, Any]:
    label, rule = one_at_a_time(claim)
    return {"labels": dict([label]), "affinity": [rule]}


Case = tuple[Cluster, Policy]
OF_THE_ENGINE = [kind for kind in members_of(Reason).values() if kind.__module__.startswith("rota.model.")]


def case(cluster: Cluster, rules: Policy | None = None, **words: Any) -> Case:
    return alone(cluster, **words), rules or Policy()


CASES: dict[type[Reason], Callable[[], Case]] = {
    NodeNotReady: lambda: case(Cluster().node("n", cpu=4, ready=False), cpu=1),
    NodeCordoned: lambda: case(Cluster().node("n", cpu=4, cordoned=True), cpu=1),
    MemoryFull: lambda: case(Cluster().node("n", cpu=4, memory="8Gi", others="9Gi"), cpu=1),
    MemoryInUse: lambda: case(Cluster().node("n", cpu=4, memory="8Gi", others="3Gi"), memory="6Gi"),
    OtherNodeNamed: lambda: case(ONE, spec={"node_name": "m"}),
    NotInPool: lambda: case(ONE, spec={"pools": ("p",)}),
    NotOfBackend: lambda: case(ONE, spec={"backends": ("kube",)}),
    NodeSelectorUnmet: lambda: case(ONE, selector={"disk": "ssd"}),
    NodeAffinityUnmet: lambda: case(ONE, requires=["disk In ssd"]),
    UntoleratedTaint: lambda: case(Cluster().node("n", taints=["x:NoSchedule"])),
    UntoleratedPassingTaint: lambda: case(Cluster().node("n", taints=[f"{PRESSURE}:NoSchedule"])),
    OtherGpuModel: lambda: case(ONE, gpu=1, gpu_models=["H100"]),
    TooExpensive: lambda: case(
        Cluster().node("n", cpu=1, price=1), cpu=1, spec={"max_price_micro_per_hour": 9}
    ),
    BeyondCapacity: lambda: case(ONE, cpu=5),
    Insufficient: lambda: case(ONE.running("r", on=["n"], cpu=4), cpu=1),
    NodeInUse: lambda: case(ONE.running("r", on=["n"]), spec={"exclusive": True}),
    NodeExclusive: lambda: case(ONE.running("r", on=["n"], spec={"exclusive": True}), cpu=1),
    DiskTaken: lambda: case(
        ONE.running("r", on=["n"], spec={"attached": (("disk:d", WHOLE_DISK),)}),
        spec={"attached": (("disk:d", 1),)},
    ),
    ClaimInUse: lambda: case(ONE.running("r", on=["n"], **for_one("c")), **for_one("c")),
    TooManyVolumes: lambda: case(ONE, spec={"volume_nodes": (VolumeNodes((), VolumeTrouble.LIMIT),)}),
    VolumeOutOfReach: lambda: case(ONE, spec={"volume_nodes": (VolumeNodes(()),)}),
    VolumeInOtherZone: lambda: case(ONE, spec={"volume_nodes": (VolumeNodes((), VolumeTrouble.ZONE),)}),
    NoVolumeToBind: lambda: case(ONE, spec={"attached": (("unbound:local", 1),)}),
    NoSpaceForVolume: lambda: case(ONE, spec={"volume_nodes": (VolumeNodes((), VolumeTrouble.SPACE),)}),
    PortTaken: lambda: case(
        ONE.running("r", on=["n"], spec={"ports": (HostPort(80),)}), spec={"ports": (HostPort(80),)}
    ),
    JobAffinityUnmet: lambda: case(ONE, affinity=[near("zone", "app In db")]),
    JobAntiAffinityUnmet: lambda: case(
        ONE.running("r", on=["n"], labels={"app": "db"}), affinity=[apart("zone", "app In db")]
    ),
    RunningAntiAffinity: lambda: case(
        ONE.running("r", on=["n"], affinity=[apart("zone", "app In j")]), labels={"app": "j"}
    ),
    TopologyLabelMissing: lambda: case(ONE, spread=[spread("rack", "app In j")]),
    OtherDomains: lambda: case(
        ONE.node("other", zone="b", cordoned=True).running("r", on=["n"], labels={"app": "j"}),
        labels={"app": "j"},
        spec={"in_domains": (InDomains("zone", 2, Selector((when("app In j"),))),)},
    ),
    TooFewDomains: lambda: case(
        ONE, labels={"app": "j"}, spec={"in_domains": (InDomains("zone", 2, Selector((when("app In j"),))),)}
    ),
    SpreadUneven: lambda: case(
        ONE.node("full", zone="b", cordoned=True).running("r", on=["n"], labels={"app": "j"}),
        labels={"app": "j"},
        spread=[spread("zone", "app In j")],
    ),
    RefusedByPlugin: lambda: case(ONE, Policy((SchedulerPolicy(plugins=(PluginConfig("grumpy"),)),))),
    GangLacksRoom: lambda: case(TWO.running("r", on=["m"], cpu=4), cpu=4, tasks=2),
    GangBeyondCapacity: lambda: case(TWO, cpu=4, tasks=3),
    LayoutLacksRoom: lambda: case(
        TWO.running("r", on=["m", "n"], cpu=1), cpu=2, tasks=2, topology=[lie("host", "same")]
    ),
    LayoutBeyondCapacity: lambda: case(TWO, cpu=3, tasks=2, topology=[lie("host", "same")]),
    QuotaReached: lambda: case(ONE.running("r", on=["n"], cpu=2), quota(3), cpu=2),
    BeyondQuota: lambda: case(ONE, quota(3), cpu=4),
    LimitReached: lambda: case(ONE.running("r", on=["n"], cpu=2), limit(3), cpu=2),
    ArrayLimitReached: lambda: case(
        ONE.running("r", on=["n"], template={"array_limit": ArrayLimit("24", 1)}),
        template={"array_limit": ArrayLimit("24", 1)},
    ),
    BeyondLimit: lambda: case(ONE, limit(3), cpu=4),
    AwaitsPartner: lambda: case(ONE, template={"connect_to": "nobody"}),
    BehindInStrictQueue: lambda: case(
        ONE.running("r", on=["n"], cpu=2).job("first", cpu=4, submitted=-9),
        policy(queues=(QueuePolicy(strict=True),)),
        cpu=1,
    ),
    QueuePaused: lambda: case(ONE.queue("default", "paused"), cpu=1),
    QueueClosed: lambda: case(ONE.queue("default", "closed", since=-1), cpu=1),
    RoomPlanned: lambda: case(
        ONE.running("r", on=["n"], cpu=2, limit=9999).job("wide", cpu=4, submitted=-9, limit=60), cpu=1
    ),
    TooEarly: lambda: case(ONE, after=60),
    PromisedLater: lambda: (
        ONE.record(
            JobRecord(
                job("j", {"after": 60}),
                promise=Promise(NOW_MS + 60_000, (Placement(0, NodeName("n"), NOW_MS + 60_000),)),
            )
        ),
        Policy(),
    ),
    PeriodMissed: lambda: case(ONE, before=-60),
    SlaMissed: lambda: case(ONE, submitted=-9, template={"start_within_ms": 1}),
    RoomReserved: lambda: case(ONE.reservation("class", start=60, end=90, on="n"), cpu=1, limit=61),
    OutsideReservation: lambda: case(
        ONE.reservation("class", start=60, end=90, on="n"), reservation="class", limit=9
    ),
    NotReservedFor: lambda: case(
        ONE.reservation("class", start=0, end=90, on="n", tenants=["x"]), reservation="class", limit=9
    ),
    MaintenanceAhead: lambda: case(ONE.maintenance("disks", start=60, end=90), cpu=1, limit=61),
    EvictedForMaintenance: lambda: (
        ONE.maintenance("disks", start=0, end=90).running("j", on=["n"]),
        Policy(),
    ),
    WasPreempted: lambda: (
        ONE.running("j", on=["n"], cpu=4, priority="low").job("new", cpu=4, priority="high"),
        Policy(),
    ),
    EvictedByTaint: lambda: (
        Cluster().node("n", taints=["x:NoExecute"]).running("j", on=["n"]),
        Policy(),
    ),
    NoScheduler: lambda: case(ONE, Policy((SchedulerPolicy(namespaces=("other",)),))),
    NoNodes: lambda: case(Cluster(), cpu=1),
}


def test_there_is_a_case_for_every_reason_of_the_engine() -> None:
    # Nobody waits for that: it is said of single nodes, beside a verdict (evicting/test_without.py).
    assert set(CASES) >= set(OF_THE_ENGINE) - {NobodyToEvict}


@pytest.mark.parametrize("kind", CASES, ids=code_of)
class TestEveryReason:
    def verdict(self, kind: type[Reason]) -> Verdict:
        cluster, rules = CASES[kind]()
        return cluster.plan(rules, plugins=PLUGINS).waits("j")

    def test_it_is_given(self, kind: type[Reason]) -> None:
        assert kind in {type(refusal.reason) for refusal in self.verdict(kind).refusals}

    def test_its_kind_is_that_of_its_rule(self, kind: type[Reason]) -> None:
        assert self.verdict(kind).kind is kind.rule.kind

    def test_its_events_are_those_of_its_rule(self, kind: type[Reason]) -> None:
        assert set(kind.rule.unblocked_by) <= self.verdict(kind).unblocked_by

    def test_it_counts_nodes_if_it_is_about_nodes(self, kind: type[Reason]) -> None:
        [nodes] = [one.nodes for one in self.verdict(kind).refusals if type(one.reason) is kind]
        assert (nodes == 0) is (kind in NOT_ABOUT_NODES)


def verdict(cluster: Cluster, name: str = "j") -> Verdict:
    return cluster.plan().waits(name)


def reasons(cluster: Cluster, name: str = "j") -> dict[type[Reason], int]:
    """How many nodes each kind of reason refuses."""
    found: dict[type[Reason], int] = {}
    for refusal in verdict(cluster, name).refusals:
        kind = type(refusal.reason)
        found[kind] = found.get(kind, 0) + refusal.nodes
    return found


class TestCounting:
    MANY = (
        Cluster()
        .nodes("a b", cpu=1)
        .node("c", cpu=9, taints=["x:NoSchedule"])
        .node("d", cpu=1, taints=["x:NoSchedule"])
        .node("e", cpu=9, ready=False)
        .nodes("f g", cpu=9)
        .running("r", on=["f", "g"], cpu=8)
    )

    def test_each_node_is_counted_once(self) -> None:
        assert reasons(self.MANY.job("j", cpu=4)) == {
            BeyondCapacity: 2,
            UntoleratedTaint: 2,
            NodeNotReady: 1,
            Insufficient: 2,
        }

    @pytest.mark.parametrize(
        "words",
        [
            {"cpu": 4},
            {"cpu": 1, "tasks": 9},
            {"cpu": 5, "gpu": 1},
            {"cpu": 1, "tasks": 5, "topology": [lie("host", "different")]},
            {"cpu": 4, "selector": {"disk": "ssd"}},
            {"groups": [tasks(2, cpu=1), tasks(1, cpu=9)]},
            {"cpu": 1, "spec": {"exclusive": True}, "tasks": 3},
        ],
    )
    def test_all_nodes_are_counted(self, words: dict[str, Any]) -> None:
        found = verdict(self.MANY.job("j", **words))
        assert sum(refusal.nodes for refusal in found.refusals) == 7

    def test_the_most_frequent_reason_comes_first(self) -> None:
        cluster = Cluster().node("a", cpu=1).nodes("b c d", cpu=9, taints=["x:NoSchedule"])
        counts = [refusal.nodes for refusal in verdict(cluster.job("j", cpu=4)).refusals]
        assert counts == [3, 1]

    def test_equal_jobs_wait_for_the_same_reasons(self) -> None:
        plan = ONE.job("x", cpu=9).job("y", cpu=9).job("z", cpu=8).plan()
        assert [list(entry.jobs) for entry in plan.plan.waiting] == [["x", "y"], ["z"]]


class TestAmounts:
    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            ({"cpu": 9}, BeyondCapacity("cpu", 9000, 8000)),
            ({"cpu": 6}, Insufficient("cpu", 6000, 5000)),
            ({"memory": "9Gi"}, BeyondCapacity("memory", 9 << 30, 8 << 30)),
            ({"gpu": 3}, BeyondCapacity("gpu", 3000, 2000)),
            ({"gpu": 2}, Insufficient("gpu", 2000, 1000)),
            ({"extended": {"fpga": 2}}, BeyondCapacity("fpga", 2, 1)),
        ],
    )
    def test_a_reason_says_how_much_was_asked_and_the_most_there_is(
        self, words: dict[str, Any], reason: Reason
    ) -> None:
        cluster = Cluster().nodes("m n", cpu=8, memory="8Gi", gpus=2, extended={"fpga": 1})
        cluster = cluster.running("r", on=["m"], cpu=3, gpu=0.5, devices=[[0]])
        cluster = cluster.running("s", on=["n"], cpu=4, gpu=0.5, devices=[[0]])
        assert Refusal(reason, 2) in verdict(cluster.job("j", **words)).refusals

    def test_a_share_of_a_gpu_is_compared_with_the_emptiest_device(self) -> None:
        cluster = Cluster().node("n", gpus=2).running("r", on=["n", "n"], gpu=0.6, devices=[[0], [1]])
        [refusal] = verdict(cluster.job("j", gpu=0.5)).refusals
        assert refusal.reason == Insufficient("gpu", 500, 400, of_one_device=True)

    def test_a_gang_says_how_many_it_needs_and_how_many_fit(self) -> None:
        cluster = Cluster().nodes("a b", cpu=4).running("r", on=["a"], cpu=3)
        [refusal] = verdict(cluster.job("j", cpu=1, tasks=9, min_available=6)).refusals
        assert refusal.reason == GangLacksRoom(6, 5)

    def test_of_a_gang_of_which_some_run_only_the_rest_counts(self) -> None:
        cluster = Cluster().node("a", cpu=3).running("j", on=["a"], cpu=1, tasks=4)
        cluster = cluster.running("r", on=["a"], cpu=1)
        [refusal] = verdict(cluster).refusals
        assert refusal.reason == GangLacksRoom(3, 1)

    def test_a_port_is_named(self) -> None:
        cluster, _ = CASES[PortTaken]()
        assert [one.reason for one in verdict(cluster).refusals] == [PortTaken(HostPort(80))]


class TestNeverOrNotNow:
    """Never: not on this cluster, however idle. A node that would refuse for good says so first."""

    def kind(self, cluster: Cluster) -> Kind:
        return verdict(cluster).kind

    def test_one_node_that_may_yet_take_it_is_hope_enough(self) -> None:
        cluster = TWO.node("big", cpu=9).running("r", on=["big"], cpu=9)
        assert self.kind(cluster.job("j", cpu=8)) is Kind.NOT_NOW
        assert self.kind(TWO.job("j", cpu=8)) is Kind.NEVER

    def test_a_gang_larger_than_the_idle_cluster_never_starts(self) -> None:
        cluster = TWO.running("r", on=["m"], cpu=4)
        assert self.kind(cluster.job("j", cpu=2, tasks=4)) is Kind.NOT_NOW
        assert self.kind(cluster.job("j", cpu=2, tasks=5)) is Kind.NEVER
        assert self.kind(cluster.job("j", cpu=2, tasks=5, min_available=4)) is Kind.NOT_NOW

    def test_nodes_that_are_down_count_for_a_gang(self) -> None:
        cluster = Cluster().node("m", cpu=4).node("n", cpu=4, ready=False)
        assert self.kind(cluster.job("j", cpu=4, tasks=2)) is Kind.NOT_NOW
        assert self.kind(cluster.job("j", cpu=4, tasks=3)) is Kind.NEVER

    def test_nodes_that_refuse_for_good_do_not_count_for_a_gang(self) -> None:
        cluster = Cluster().node("m", cpu=4).node("n", cpu=4, taints=["x:NoSchedule"])
        assert self.kind(cluster.job("j", cpu=4, tasks=2)) is Kind.NEVER

    @pytest.mark.parametrize(
        ("count", "share", "kind"),
        [(4, 0.5, Kind.NOT_NOW), (5, 0.5, Kind.NEVER), (2, 0.6, Kind.NOT_NOW), (3, 0.6, Kind.NEVER)],
    )
    def test_a_gang_of_shares_is_counted_by_devices(self, count: int, share: float, kind: Kind) -> None:
        cluster = Cluster().node("n", gpus=2).running("r", on=["n"], gpu=1, devices=[[0]])
        assert self.kind(cluster.job("j", gpu=share, tasks=count)) is kind

    @pytest.mark.parametrize(("count", "kind"), [(2, Kind.NOT_NOW), (3, Kind.NEVER)])
    def test_a_gang_of_whole_gpus_is_counted_node_by_node(self, count: int, kind: Kind) -> None:
        cluster = Cluster().nodes("m n", gpus=3).running("r", on=["m"], gpu=2, devices=[[0, 1]])
        assert self.kind(cluster.job("j", gpu=2, tasks=count)) is kind

    def test_a_gang_whose_tasks_keep_apart_needs_as_many_hosts(self) -> None:
        words: dict[str, Any] = {"labels": {"app": "j"}, "affinity": [apart("host", "app In j")], "cpu": 2}
        busy = TWO.running("r", on=["m"], cpu=4)
        assert self.kind(busy.job("j", tasks=2, **words)) is Kind.NOT_NOW
        assert self.kind(busy.job("j", tasks=3, **words)) is Kind.NEVER

    def test_a_gang_whose_groups_keep_apart_needs_hosts_for_each(self) -> None:
        one = tasks(1, cpu=2, labels={"role": "one"}, affinity=[apart("host", "role In other")])
        other = tasks(1, cpu=2, labels={"role": "other"})
        busy = TWO.running("r", on=["m"], cpu=4)
        assert self.kind(busy.job("j", groups=[one, other])) is Kind.NOT_NOW
        assert self.kind(ONE.job("j", groups=[one, other])) is Kind.NEVER

    def test_a_gang_in_one_domain_needs_one_large_enough(self) -> None:
        rule = [lie("host", "same")]
        busy = TWO.running("r", on=["m", "n"], cpu=3)
        assert self.kind(busy.job("j", cpu=2, tasks=2, topology=rule)) is Kind.NOT_NOW
        assert self.kind(busy.job("j", cpu=2, tasks=3, topology=rule)) is Kind.NEVER

    @pytest.mark.parametrize(
        ("cluster", "words", "kind"),
        [
            (Cluster().node("n", cpu=1, cordoned=True), {"cpu": 2}, BeyondCapacity),
            (Cluster().node("n", cpu=1, ready=False), {"cpu": 2}, BeyondCapacity),
            (
                Cluster().node("n", cpu=1, taints=[f"{PRESSURE}:NoSchedule"]),
                {"cpu": 2},
                BeyondCapacity,
            ),
            (
                Cluster().node("n", cpu=1, price=1, taints=[f"{PRESSURE}:NoSchedule"]),
                {"cpu": 1, "spec": {"max_price_micro_per_hour": 5}},
                TooExpensive,
            ),
            (
                ONE.running("r", on=["n"], cpu=4),
                {"cpu": 1, "affinity": [near("rack", "app In db")]},
                TopologyLabelMissing,
            ),
            (
                ONE.running("r", on=["n"], cpu=4),
                {"cpu": 1, "spread": [spread("rack", "app In j")]},
                TopologyLabelMissing,
            ),
        ],
    )
    def test_a_reason_that_lasts_comes_before_one_that_passes(
        self, cluster: Cluster, words: dict[str, Any], kind: type[Reason]
    ) -> None:
        found = verdict(cluster.job("j", **words))
        assert [type(refusal.reason) for refusal in found.refusals] == [kind]
        assert found.kind is Kind.NEVER

    def test_of_groups_the_one_that_can_never_start_speaks(self) -> None:
        cluster = ONE.running("r", on=["n"], cpu=4)
        assert reasons(cluster.job("j", groups=[tasks(1, cpu=1), tasks(1, cpu=9)])) == {BeyondCapacity: 1}
        assert self.kind(cluster.job("j", groups=[tasks(1, cpu=1), tasks(1, cpu=9)])) is Kind.NEVER

    def test_a_group_that_can_never_start_does_not_matter_if_it_is_not_needed(self) -> None:
        cluster = ONE.running("r", on=["n"], cpu=4)
        job = cluster.job("j", groups=[tasks(2, cpu=1), tasks(1, cpu=9)], min_available=2)
        assert self.kind(job) is Kind.NOT_NOW


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (Insufficient, Unblock.TASK_ENDED),
        (JobAffinityUnmet, Unblock.TASK_PLACED),
        (BeyondCapacity, Unblock.NODE_ADDED),
        (QuotaReached, Unblock.POLICY_CHANGED),
        (WasPreempted, Unblock.NEXT_CYCLE),
    ],
)
def test_the_events_that_could_help_are_named(kind: type[Reason], event: Unblock) -> None:
    cluster, rules = CASES[kind]()
    assert event in cluster.plan(rules, plugins=PLUGINS).waits("j").unblocked_by
