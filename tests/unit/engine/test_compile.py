"""What a job is compiled to: its own conditions, and those of its queue, its tenant and its budget."""

from typing import Any

import pytest

from rota.engine.scope import Turn
from rota.model.job import TaskGroup
from rota.model.policy import (
    FairShare,
    PluginConfig,
    Policy,
    QueuePolicy,
    Recovery,
    SchedulerPolicy,
    TenantPolicy,
)
from rota.model.task import TaskSpec
from tests.builders import Cluster, policy
from tests.unit.engine.compiling import Compiling
from tests.words import apart, lie, near, spread, tasks


@pytest.mark.covers("decide-13")
class TestPools:
    CLUSTER = Cluster().node("a", pool="a").node("b", pool="b").node("c", pool="c")

    @pytest.mark.parametrize(
        ("own", "queue", "project", "user", "nodes"),
        [
            ((), (), (), (), "abc"),
            (("a",), (), (), (), "a"),
            ((), ("a", "b"), (), (), "ab"),
            ((), (), ("a", "b"), (), "ab"),
            ((), (), (), ("c",), "c"),
            (("a", "b"), ("b", "c"), (), (), "b"),
            ((), ("a", "b"), ("b", "c"), (), "b"),
            ((), (), ("a", "b"), ("b", "c"), "b"),
            (("a",), ("b",), (), (), ""),
            (("a", "b"), ("b", "c"), ("a", "c"), (), ""),
        ],
    )
    def test_a_job_goes_where_it_its_queue_and_its_tenant_all_may(
        self,
        own: tuple[str, ...],
        queue: tuple[str, ...],
        project: tuple[str, ...],
        user: tuple[str, ...],
        nodes: str,
    ) -> None:
        tenants = (TenantPolicy("p", pools=project), TenantPolicy("p/u", pools=user))
        made = Compiling(
            self.CLUSTER.job("j", spec={"pools": own}, template={"project": "p", "user": "u"}),
            Policy(fair_share=FairShare(tenants=tenants)),
            QueuePolicy(pools=queue),
        )
        assert "".join(made.nodes()) == nodes


@pytest.mark.covers("decide-9")
class TestBudget:
    CLUSTER = Cluster().node("free", cpu=4).node("one", cpu=4, price=1).node("two", cpu=4, price=2)

    @pytest.mark.parametrize(
        ("budget", "hours", "count", "own", "nodes"),
        [
            (4, 2, 1, None, {"free", "one", "two"}),
            (2, 2, 1, None, {"free", "one"}),
            (4, 2, 2, None, {"free", "one"}),
            (1, 2, 1, None, {"free"}),
            (4, 2, 1, 1_000_000, {"free", "one"}),
            (2, 2, 1, 9_000_000, {"free", "one"}),
            (1, None, 1, None, {"free", "one", "two"}),
        ],
    )
    def test_a_task_may_cost_its_share_of_the_jobs_budget_an_hour(
        self, budget: int, hours: int | None, count: int, own: int | None, nodes: set[str]
    ) -> None:
        limits: dict[str, Any] = {"max_cost_micro": budget * 1_000_000}
        if hours:
            limits["time_limit_ms"] = hours * 3_600_000
        spec = {"max_price_micro_per_hour": own}
        cluster = self.CLUSTER.job("j", cpu=4, tasks=count, template=limits, spec=spec)
        assert set(Compiling(cluster).nodes()) == nodes


@pytest.mark.covers("time-10")
class TestWishes:
    """A job that has failed often is content with less."""

    PATIENT = policy(recovery=Recovery(drop_wishes_after=2))
    CLUSTER = Cluster().node("a", cpu=4, zone="a").node("b", cpu=4, zone="b")

    def made(self, retries: int, rules: Policy = PATIENT) -> TaskSpec:
        cluster = self.CLUSTER.job(
            "j",
            cpu=1,
            labels={"app": "j"},
            prefers="zone In b",
            requires=["zone In a,b"],
            affinity=[near("zone", "app In db", weight=9), apart("host", "app In j")],
            spread=[spread("zone", "app In j", required=False), spread("host", "app In j")],
            spec={"near": (("zone", "b"),)},
            job={"retries": retries},
        )
        return Compiling(cluster, rules).work().signatures[0].task.spec

    @pytest.mark.parametrize("retries", [2, 3, 99])
    def test_what_it_only_prefers_is_dropped(self, retries: int) -> None:
        spec = self.made(retries)
        assert (spec.preferred_nodes, spec.near) == ((), ())
        assert spec.job_affinity == (apart("host", "app In j"),)
        assert spec.spread == (spread("host", "app In j"),)
        assert spec.node_affinity

    def test_not_before_it_has_failed_that_often(self) -> None:
        asked = self.made(1)
        assert asked.preferred_nodes
        assert asked.near
        assert len(asked.job_affinity) == len(asked.spread) == 2

    def test_and_never_unless_the_policy_says_so(self) -> None:
        assert self.made(99, Policy()) == self.made(0)

    def test_so_another_node_gets_it(self) -> None:
        cluster = self.CLUSTER.running("old", on=["b"], cpu=1)
        for retries, node in ((1, "b"), (2, "a")):
            job = cluster.job("j", cpu=1, prefers="zone In b", job={"retries": retries})
            assert job.plan(self.PATIENT).places("j") == [node]


class TestWork:
    def test_it_is_what_waits_and_what_is_needed(self) -> None:
        cluster = Cluster().node("a", cpu=9).running("j", on=["a"], tasks=4, min_available=3)
        work = Compiling(cluster).work()
        assert (work.counts, work.needed, work.total) == ((3,), 2, 3)

    def test_it_knows_where_the_jobs_tasks_run_if_that_matters(self) -> None:
        cluster = Cluster().nodes("a b", cpu=9)
        plain = cluster.running("j", on=["b"], tasks=2)
        bound = cluster.running("j", on=["b"], tasks=2, topology=[lie("host", "same")])
        assert Compiling(plain).work().placed_at == ()
        assert Compiling(bound).work().placed_at == (1,)

    def test_a_task_on_a_node_that_is_gone_is_nowhere(self) -> None:
        cluster = Cluster().node("a", cpu=9)
        bound = cluster.running("j", on=["gone"], tasks=2, topology=[lie("host", "same")])
        assert Compiling(bound).work().placed_at == ()


class TestSharing:
    def test_tasks_that_ask_for_the_same_share_a_signature(self) -> None:
        cluster = Cluster().node("a", cpu=9).job("j", cpu=1).job("k", cpu=1, priority="high").job("l", cpu=2)
        made = Compiling(cluster)
        [one], [same], [other] = (made.work(name).signatures for name in "jkl")
        assert one is same
        assert one is not other

    def test_in_other_namespaces_too_unless_somebody_looks_at_one(self) -> None:
        """A namespace is a project, of which there may be thousands."""
        cluster = Cluster().node("a", cpu=9).job("j", cpu=1)
        for name in "kl":
            cluster = cluster.job(name, cpu=1, template={"namespace": name})
        made = Compiling(cluster)
        assert len({id(made.work(name).signatures[0]) for name in "jkl"}) == 1
        away = [apart("host", "app In x")]
        made = Compiling(cluster.job("m", cpu=2, affinity=away, template={"namespace": "k"}))
        [j], [k], [in_l] = (made.work(name).signatures for name in "jkl")
        assert j is in_l
        assert k is not j

    @pytest.mark.covers("decide-11")
    def test_not_under_another_scheduler(self) -> None:
        made = Compiling(Cluster().node("a", cpu=9).job("j", cpu=1))
        before = made.work().signatures[0]
        made.turn = Turn(SchedulerPolicy("other"), QueuePolicy())
        assert made.work().signatures[0] is not before

    def test_however_many_kinds_there_are_each_is_compiled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rota.engine.compile._KEPT", 8)
        cluster = Cluster().node("a", cpu=9)
        for number in range(1, 21):
            cluster = cluster.record(Cluster().job(f"j{number}", cpu=number / 1000).records.jobs[0])
        made = Compiling(cluster)
        lanes = list(made.snapshot.waiting.lanes())
        for lane in lanes * 2:
            [job] = lane.view()[0]
            demand = made.compiler.work(made.turn, lane, job).signatures[0].demand
            assert f"j{demand.take[0]}" == job.id


class TestKinds:
    """Groups that nothing can tell apart are one kind of task."""

    GANG: tuple[TaskGroup, ...] = tuple(
        tasks(2, cpu=1, labels={"app": "g", "index": str(at)}) for at in range(5)
    )

    @staticmethod
    def counts(cluster: Cluster) -> tuple[int, ...]:
        return Compiling(cluster).work().counts

    def test_labels_that_nobody_looks_at(self) -> None:
        work = Compiling(Cluster().node("n", cpu=1).job("j", groups=self.GANG)).work()
        assert (work.counts, work.kind_of_group) == ((10,), (0, 0, 0, 0, 0))

    def test_what_asks_for_something_else_is_another_kind(self) -> None:
        cluster = Cluster().node("n", cpu=1).job("j", groups=[*self.GANG, tasks(3, cpu=2)])
        assert self.counts(cluster) == (10, 3)

    @pytest.mark.parametrize(
        ("condition", "counts"),
        [
            ("app In g", (10,)),
            ("index Exists", (10,)),
            ("index In 9", (10,)),
            ("index In 3", (8, 2)),
            ("index NotIn 0,1", (2, 2, 6)),
            ("index Gt 3", (6, 2, 2)),
            ("index Lt 2", (4, 2, 4)),
        ],
    )
    @pytest.mark.parametrize("is_running", [True, False])
    def test_labels_that_another_job_looks_at(
        self, condition: str, counts: tuple[int, ...], is_running: bool
    ) -> None:
        cluster = Cluster().node("n", cpu=1).job("j", groups=self.GANG)
        words: Any = {"cpu": 1, "affinity": [apart("zone", condition)]}
        other = cluster.running("o", on=["n"], **words) if is_running else cluster.job("o", **words)
        assert sorted(self.counts(other)) == sorted(counts)

    def test_a_plugin_from_outside_sees_all_labels(self) -> None:
        own = policy(plugins=(PluginConfig("by-name"),))
        cluster = Cluster().node("n", cpu=1).job("j", groups=self.GANG)
        assert Compiling(cluster, own).work().counts == (2, 2, 2, 2, 2)

    def test_each_rank_gets_one_place(self) -> None:
        cluster = Cluster().node("n1", cpu=6).node("n2", cpu=6).job("j", groups=[*self.GANG, tasks(1, cpu=2)])
        bound = cluster.plan().plan.bindings
        assert sorted(one.rank for one in bound) == list(range(11))
        large = next(one for one in bound if one.rank == 10)
        assert sum(one.node == large.node for one in bound) <= 5
