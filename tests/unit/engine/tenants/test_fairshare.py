"""What tenants have had of the cluster, against what they are due."""

from math import isclose, log
from typing import Any

import pytest
from msgspec.structs import replace

from rota.engine.tenants.fairshare import Shares, fade, shared_rows
from rota.model.cluster import TenantUsage
from rota.model.policy import FairShare, TenantLabel, TenantPolicy
from rota.model.resources import HostPort
from rota.snapshot import Snapshot, rows, snapshot_of
from tests.builders import Cluster
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("prio-5")

WEEK_MS = 7 * 24 * 3600 * 1000


class TestFade:
    @pytest.mark.parametrize("half_life_ms", [1, 7, 1000, 3_600_000, WEEK_MS])
    @pytest.mark.parametrize(("halvings", "left"), [(0, 1.0), (1, 0.5), (2, 0.25), (10, 1 / 1024)])
    def test_it_halves_exactly_with_each_half_life(
        self, half_life_ms: int, halvings: int, left: float
    ) -> None:
        assert fade(halvings * half_life_ms, half_life_ms) == left

    @pytest.mark.parametrize(
        "elapsed_ms", [1, 1234, WEEK_MS // 3, WEEK_MS - 1, WEEK_MS + 1, 5 * WEEK_MS + 99]
    )
    def test_in_between_it_is_a_power_of_two(self, elapsed_ms: int) -> None:
        assert isclose(fade(elapsed_ms, WEEK_MS), 2.0 ** (-elapsed_ms / WEEK_MS), rel_tol=1e-6)

    def test_it_never_rises(self) -> None:
        values = [fade(elapsed, 1000) for elapsed in range(0, 5000, 7)]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == len(values)

    def test_what_is_still_to_come_has_not_faded(self) -> None:
        assert fade(-5, 1000) == 1.0

    def test_what_is_very_long_ago_is_next_to_nothing(self) -> None:
        assert 0.0 <= fade(10**18, 1) < 1e-300


def shares(cluster: Cluster, now: float = 0, half_life_ms: int = WEEK_MS, **weights: int) -> Shares:
    tenants = tuple(TenantPolicy(path.replace("__", "/"), weight) for path, weight in weights.items())
    policy = FairShare(half_life_ms, tenants)
    return Shares(snapshot_of(cluster.records), policy, NOW_MS + int(now * 1000))


def running(name: str, project: str = "p", user: str = "u", **words: Any) -> Cluster:
    cluster = Cluster().nodes("a b", cpu=10, memory="50Gi", gpus=2)
    return cluster.running(name, on=["a"], template={"project": project, "user": user}, **words)


class TestShares:
    @pytest.mark.parametrize(
        ("words", "share"),
        [
            ({"cpu": 5}, 0.25),
            ({"memory": "25Gi"}, 0.25),
            ({"cpu": 1, "memory": "25Gi"}, 0.25),
            ({"cpu": 1, "gpu": 2}, 0.5),
            ({"gpu": 0.4}, 0.1),
            ({}, 0.0),
        ],
    )
    def test_a_share_is_that_of_the_dominant_resource(self, words: dict[str, Any], share: float) -> None:
        assert isclose(shares(running("r", **words)).of(("p",)), share)

    @pytest.mark.parametrize(("weight", "share"), [(1, 0.5), (2, 0.25), (5, 0.1)])
    def test_it_is_divided_by_the_weight(self, weight: int, share: float) -> None:
        assert isclose(shares(running("r", cpu=10), p=weight).of(("p",)), share)

    def test_a_project_holds_what_its_users_hold(self) -> None:
        cluster = running("r", user="ada", cpu=4)
        cluster = cluster.running("s", on=["b"], cpu=2, template={"project": "p", "user": "bob"})
        held = shares(cluster, p__ada=2)
        assert isclose(held.of(("p",)), 6 / 20)
        assert isclose(held.of(("p", "ada")), 4 / 20 / 2)
        assert isclose(held.of(("p", "bob")), 2 / 20)
        assert held.of(("q",)) == 0

    def test_a_dominant_resource_of_a_project_is_that_of_the_sum(self) -> None:
        cluster = running("r", user="ada", cpu=4, memory="10Gi")
        cluster = cluster.running("s", on=["b"], memory="20Gi", template={"project": "p", "user": "bob"})
        assert isclose(shares(cluster).of(("p",)), 30 / 100)

    def test_what_is_placed_and_evicted_counts_from_then_on(self) -> None:
        cluster = running("r", cpu=4)
        snapshot = snapshot_of(cluster.records)
        held = Shares(snapshot, FairShare(), NOW_MS)
        template = next(iter(snapshot.jobs.values())).job.template
        take = snapshot.demand(template.groups[0].spec).take
        assert isclose(held.of(("p",)), 4 / 20)
        held.charge(template, take, 2)
        assert isclose(held.of(("p",)), 12 / 20)
        held.charge(template, take, -3)
        assert held.of(("p",)) == held.of(("p", "u")) == 0

    def test_only_a_fall_makes_orders_stale(self) -> None:
        cluster = running("r", cpu=4)
        snapshot = snapshot_of(cluster.records)
        held = Shares(snapshot, FairShare(), NOW_MS)
        template = next(iter(snapshot.jobs.values())).job.template
        take = snapshot.demand(template.groups[0].spec).take
        before = held.epoch
        held.charge(template, take, 2)
        assert held.epoch == before
        held.charge(template, take, -1)
        assert held.epoch > before

    def test_nodes_that_could_be_had_are_no_part_of_the_cluster(self) -> None:
        cluster = running("r", cpu=10).offer("o", limit=9, cpu=100).job("w", tasks=9)
        assert isclose(shares(cluster).of(("p",)), 0.5)

    def test_a_cluster_without_a_resource_has_no_share_of_it(self) -> None:
        cluster = Cluster().node("a", cpu=1).running("r", on=["a"], gpu=1, template={"project": "p"})
        assert shares(cluster).of(("p",)) == 0


class TestPastUsage:
    NODE = Cluster().node("a", cpu=10)
    MEAN_LIFE_S = WEEK_MS / 1000 / log(2)

    def used(self, cores: float, path: str = "p/u", as_of: float = 0) -> Cluster:
        """As much as a tenant has used who has always held so many cores."""
        return self.NODE.usage(path, as_of=as_of, cpu=int(cores * 1000 * self.MEAN_LIFE_S))

    def test_steady_use_is_remembered_as_what_was_held(self) -> None:
        assert isclose(shares(self.used(5)).of(("p",)), 0.5, rel_tol=1e-6)

    def test_it_halves_with_each_half_life(self) -> None:
        week = WEEK_MS / 1000
        assert isclose(shares(self.used(8), now=week).of(("p",)), 0.4, rel_tol=1e-6)
        assert isclose(shares(self.used(8, as_of=-2 * week)).of(("p",)), 0.2, rel_tol=1e-6)

    def test_it_is_added_to_what_runs(self) -> None:
        cluster = self.used(2).running("r", on=["a"], cpu=3, template={"project": "p", "user": "u"})
        assert isclose(shares(cluster).of(("p", "u")), 0.5, rel_tol=1e-6)

    def test_a_users_counts_for_the_project_and_a_projects_not_for_its_users(self) -> None:
        assert isclose(shares(self.used(2)).of(("p",)), 0.2, rel_tol=1e-6)
        assert shares(self.used(2, path="p")).of(("p", "u")) == 0
        assert isclose(shares(self.used(2, path="p")).of(("p",)), 0.2, rel_tol=1e-6)

    def test_entries_add_up(self) -> None:
        usage = self.used(1).records.usage + self.used(2, path="p/v").records.usage
        cluster = Cluster(self.NODE.records).usage("p/u", cpu=usage[0].amounts[0][1])
        cluster = cluster.usage("p/v", cpu=usage[1].amounts[0][1])
        assert isclose(shares(cluster).of(("p",)), 0.3, rel_tol=1e-6)

    def test_a_resource_that_nobody_has_any_more_is_forgotten(self) -> None:
        assert shares(self.NODE.usage("p", fpga=10**9)).of(("p",)) == 0


def test_slots_and_ports_and_what_is_derived_are_no_resources_of_the_cluster() -> None:
    cluster = Cluster().node("a", cpu=1, extended={"fpga": 1}).job("j", spec={"ports": (HostPort(80),)})
    snapshot: Snapshot = snapshot_of(cluster.records)
    names = [snapshot.nodes.index.names[row] for row in shared_rows(snapshot).tolist()]
    assert names == ["cpu", "memory", "storage", "gpu", "fpga"]
    assert rows.SLOTS not in shared_rows(snapshot)


@pytest.mark.covers("kube-11")
def test_what_a_tenant_by_a_label_used_counts_for_it_alone() -> None:
    records = running("r", cpu=0).records
    usage = (TenantUsage("example.com/team red", NOW_MS, (("cpu", 10**9),)),)
    snapshot = snapshot_of(replace(records, usage=usage))
    label = TenantLabel("example.com/team")
    held = Shares(snapshot, FairShare(), NOW_MS, (label,))
    assert held.of(("", "example.com/team", "red")) > 0
    assert held.of(("", "example.com/team", "blue")) == held.of(("example.com",)) == 0
