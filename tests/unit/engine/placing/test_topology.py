"""How many tasks of which kind each domain holds, and what kinds demand of that."""

from typing import Any

import pytest

from rota.model.selectors import Selector
from rota.model.task import JobAffinity
from tests.builders import Cluster
from tests.unit.engine.workbench import Workbench
from tests.words import apart, near, spread, when

pytestmark = pytest.mark.covers("decide-4")

ZONES = (
    Cluster()
    .node("a1", cpu=9, zone="a")
    .node("a2", cpu=9, zone="a")
    .node("b1", cpu=9, zone="b")
    .node("x", cpu=9)
)


def allowed(cluster: Cluster, name: str = "j") -> list[str]:
    """Nodes on which the rules between jobs let a task of the waiting job go."""
    bench = Workbench(cluster)
    scores = bench.signature(name).feasible_scores()
    return [node for node, score in zip(bench.nodes.names, scores.tolist(), strict=True) if score >= 0]


class TestNear:
    @pytest.mark.parametrize(
        ("key", "where"), [("zone", ["a1", "a2"]), ("host", ["a1"]), ("kubernetes.io/hostname", ["a1"])]
    )
    def test_a_task_goes_where_one_of_the_group_is(self, key: str, where: list[str]) -> None:
        cluster = ZONES.running("db", on=["a1"], labels={"app": "db"})
        assert allowed(cluster.job("j", affinity=[near(key, "app In db")])) == where

    def test_nowhere_if_there_is_none(self) -> None:
        assert allowed(ZONES.job("j", affinity=[near("zone", "app In db")])) == []

    def test_the_first_of_a_group_that_wants_its_own_company_goes_anywhere_with_the_key(self) -> None:
        cluster = ZONES.job("j", labels={"app": "db"}, affinity=[near("zone", "app In db")])
        assert allowed(cluster) == ["a1", "a2", "b1"]

    def test_a_node_without_the_key_is_no_domain_whoever_is_there(self) -> None:
        cluster = ZONES.running("db", on=["x"], labels={"app": "db"})
        assert allowed(cluster.job("j", affinity=[near("zone", "app In db")])) == []

    def test_all_terms_must_hold(self) -> None:
        cluster = ZONES.running("db", on=["a1"], labels={"app": "db"}).running(
            "web", on=["a2"], labels={"app": "web"}
        )
        both = [near("zone", "app In db"), near("host", "app In web")]
        assert allowed(cluster.job("j", affinity=both)) == ["a2"]

    def test_who_has_company_by_one_key_is_not_the_first_by_another(self) -> None:
        """It runs in a zone, but in no rack: whoever must be near it in both has nowhere to go."""
        cluster = ZONES.node("a3", cpu=9, zone="a", labels={"rack": "r"}).running(
            "db", on=["a1"], labels={"app": "db"}
        )
        both = [near("zone", "app In db"), near("rack", "app In db")]
        assert allowed(cluster.job("j", labels={"app": "db"}, affinity=both)) == []
        assert allowed(cluster.job("j", labels={"app": "db"}, affinity=both[1:])) == ["a3"]


class TestApart:
    @pytest.mark.parametrize(
        ("key", "where"),
        [("zone", ["b1", "x"]), ("host", ["a2", "b1", "x"]), ("rack", ["a1", "a2", "b1", "x"])],
    )
    def test_a_task_keeps_out_of_the_domains_of_the_group(self, key: str, where: list[str]) -> None:
        cluster = ZONES.running("db", on=["a1"], labels={"app": "db"})
        assert allowed(cluster.job("j", affinity=[apart(key, "app In db")])) == where

    def test_what_runs_keeps_others_out_of_its_domain(self) -> None:
        cluster = ZONES.running("db", on=["a1"], affinity=[apart("zone", "app In web")])
        assert allowed(cluster.job("j", labels={"app": "web"})) == ["b1", "x"]
        assert allowed(cluster.job("j", labels={"app": "api"})) == ["a1", "a2", "b1", "x"]

    def test_what_runs_and_only_wishes_to_be_alone_keeps_nobody_out(self) -> None:
        cluster = ZONES.running("db", on=["a1"], affinity=[apart("zone", "app In web", weight=100)])
        assert "a1" in allowed(cluster.job("j", labels={"app": "web"}))

    def test_what_is_placed_in_this_cycle_counts_as_well(self) -> None:
        bench = Workbench(
            ZONES.job("j", labels={"app": "web"}).job("shy", cpu=1, affinity=[apart("zone", "app In web")])
        )
        bench.put("shy", "b1")
        assert [
            bench.nodes.names[at] for at in range(4) if bench.signature("j").feasible_scores()[at] >= 0
        ] == [
            "a1",
            "a2",
            "x",
        ]


class TestNamespaces:
    @pytest.mark.parametrize(
        ("namespaces", "where"),
        [((), ["b1"]), (("other",), ["a1", "a2"]), (("*",), ["a1", "a2", "b1"]), (("none",), [])],
    )
    def test_a_term_counts_its_own_namespace_unless_it_names_others(
        self, namespaces: tuple[str, ...], where: list[str]
    ) -> None:
        term = JobAffinity("zone", Selector((when("app In db"),)), namespaces)
        cluster = (
            ZONES.running("theirs", on=["a1"], labels={"app": "db"}, template={"namespace": "other"})
            .running("ours", on=["b1"], labels={"app": "db"}, template={"namespace": "own"})
            .job("j", affinity=[term], template={"namespace": "own"})
        )
        assert allowed(cluster) == where

    def test_a_spread_counts_its_own_namespace(self) -> None:
        cluster = ZONES.running("theirs", on=["a1"], labels={"app": "j"}, template={"namespace": "other"})
        assert allowed(cluster.job("j", labels={"app": "j"}, spread=[spread("zone", "app In j")])) == [
            "a1",
            "a2",
            "b1",
        ]


class TestSpread:
    """Zone a holds two of the group, zone b one, zone c none."""

    CLUSTER = (
        Cluster()
        .node("a", cpu=9, zone="a")
        .node("b", cpu=9, zone="b")
        .node("c", cpu=9, zone="c", labels={"disk": "ssd"}, taints=["dear:NoSchedule"])
        .node("x", cpu=9)
        .running("web", on=["a", "a", "b"], labels={"app": "web"})
    )

    @pytest.mark.parametrize(
        ("words", "fields", "where"),
        [
            ({"tolerates": ["*"]}, {"max_skew": 1}, ["c"]),
            ({"tolerates": ["*"]}, {"max_skew": 2}, ["b", "c"]),
            ({"tolerates": ["*"]}, {"max_skew": 3}, ["a", "b", "c"]),
            ({}, {"max_skew": 1}, []),
            ({}, {"max_skew": 2}, ["b"]),
            ({}, {"max_skew": 1, "honor_taints": True}, ["b"]),
            ({"tolerates": ["*"], "requires": ["disk DoesNotExist"]}, {"max_skew": 1}, ["b"]),
            (
                {"tolerates": ["*"], "requires": ["disk DoesNotExist"]},
                {"max_skew": 1, "honor_affinity": False},
                [],
            ),
            ({"tolerates": ["*"]}, {"max_skew": 1, "min_domains": 4}, ["c"]),
            ({"tolerates": ["*"]}, {"max_skew": 2, "min_domains": 4}, ["b", "c"]),
            ({"tolerates": ["*"], "selector": {"zone": "a"}}, {"max_skew": 1}, ["a"]),
            (
                {"tolerates": ["*"], "selector": {"zone": "a"}},
                {"max_skew": 2, "min_domains": 2},
                [],
            ),
            ({"tolerates": ["*"]}, {"max_skew": 1, "required": False}, ["a", "b", "c", "x"]),
        ],
    )
    def test_a_domain_may_have_at_most_max_skew_more_than_the_emptiest_eligible(
        self, words: dict[str, Any], fields: dict[str, Any], where: list[str]
    ) -> None:
        rule = spread("zone", "app In web", **fields)
        assert allowed(self.CLUSTER.job("j", labels={"app": "web"}, spread=[rule], **words)) == where

    def test_a_task_that_is_not_of_the_group_does_not_count_itself(self) -> None:
        rule = spread("zone", "app In web")
        assert allowed(self.CLUSTER.job("j", tolerates=["*"], spread=[rule])) == ["b", "c"]

    def test_tasks_on_nodes_that_do_not_count_do_not_count(self) -> None:
        cluster = (
            Cluster()
            .node("a1", cpu=9, zone="a", labels={"disk": "ssd"})
            .node("a2", cpu=9, zone="a")
            .node("b1", cpu=9, zone="b", labels={"disk": "ssd"})
            .running("web", on=["a2", "a2"], labels={"app": "web"})
        )
        rule = spread("zone", "app In web")
        job = cluster.job("j", labels={"app": "web"}, spread=[rule], selector={"disk": "ssd"})
        assert allowed(job) == ["a1", "b1"]

    def test_nodes_that_lack_the_key_of_another_spread_count_for_none(self) -> None:
        """Zone c is empty, but nothing can go there: it doesn't hold up the others."""
        cluster = (
            Cluster()
            .node("a", cpu=9, zone="a", labels={"rack": "r1"})
            .node("b", cpu=9, zone="b", labels={"rack": "r2"})
            .node("c", cpu=9, zone="c")
            .running("web", on=["a", "b"], labels={"app": "web"})
        )
        by_zone, by_rack = spread("zone", "app In web"), spread("rack", "app In web")
        assert allowed(cluster.job("j", labels={"app": "web"}, spread=[by_zone])) == ["c"]
        assert allowed(cluster.job("j", labels={"app": "web"}, spread=[by_zone, by_rack])) == ["a", "b"]
        wished = spread("rack", "app In web", required=False)
        assert allowed(cluster.job("j", labels={"app": "web"}, spread=[by_zone, wished])) == ["c"]


class TestWishes:
    def best(self, cluster: Cluster) -> str | None:
        return Workbench(cluster).best("j")

    def test_to_be_near_is_all_or_nothing(self) -> None:
        cluster = ZONES.running("db", on=["b1", "b1"], labels={"app": "db"})
        assert self.best(cluster.job("j", affinity=[near("zone", "app In db", weight=100)])) == "b1"

    def test_to_be_apart_grows_with_each_task_that_is_there(self) -> None:
        cluster = Cluster().nodes("m n", cpu=9).running("db", on=["m", "m", "n"], labels={"app": "db"})
        assert self.best(cluster.job("j", affinity=[apart("host", "app In db", weight=100)])) == "n"

    def test_a_spread_that_is_only_wished_for_prefers_the_emptiest(self) -> None:
        cluster = TestSpread.CLUSTER.running("fill", on=["c"] * 2)
        rule = spread("zone", "app In web", required=False)
        assert self.best(cluster.job("j", tolerates=["*"], labels={"app": "web"}, spread=[rule])) == "c"


class TestFootprints:
    def test_a_task_that_nobody_asks_about_leaves_none(self) -> None:
        bench = Workbench(ZONES.job("plain", labels={"app": "web"}))
        assert bench.footprint("plain").counters == ()

    def test_a_task_is_counted_where_it_is_a_member_and_where_it_is_an_owner(self) -> None:
        bench = Workbench(
            ZONES.job("db", labels={"app": "db"}, affinity=[apart("zone", "app In db")])
            .job("web", labels={"app": "web"}, affinity=[near("zone", "app In db")])
            .job("api", labels={"app": "api"})
        )
        assert len(bench.footprint("db").counters) == 2
        assert len(bench.footprint("web").counters) == 0
        assert len(bench.footprint("api").counters) == 0

    def test_counts_are_by_domain_and_nodes_without_the_key_make_none(self) -> None:
        cluster = ZONES.running("db", on=["a1", "a2", "b1", "x"], labels={"app": "db"})
        bench = Workbench(cluster.job("j", labels={"app": "db"}, affinity=[near("zone", "app In db")]))
        [counter] = bench.footprint("j").counters
        assert counter.count[:2].tolist() == [2, 1]
        assert counter.total == 3
        bench.put("j", "b1")
        bench.put("j", "x")
        assert counter.count[:2].tolist() == [2, 2]
        assert counter.total == 4
