"""Conditions on nodes: those that must hold, and wishes."""

import pytest

from rota.model.selectors import NodeTerm, PreferredNodeTerm, Selector
from rota.model.task import TaskSpec
from rota.plugins.node_affinity import NodeAffinityFilter, NodeAffinityScore, NodeAffinityUnmet
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged, rated
from tests.words import node_term, toleration, when

NODES = (
    Cluster()
    .node("a", labels={"disk": "ssd", "cores": "8"})
    .node("b", labels={"disk": "hdd", "cores": "64"})
    .node("c", labels={"cores": "many"})
)


def term(*conditions: str, names: str = "") -> NodeTerm:
    """Labels that must be so, and a condition on the node's name."""
    return NodeTerm(Selector(tuple(map(when, conditions))), (when(names),) if names else ())


@pytest.mark.covers("decide-3")
class TestFilter:
    @pytest.mark.parametrize(
        ("terms", "passes"),
        [
            ((), "abc"),
            ((term("disk In ssd"),), "a"),
            ((term("disk NotIn ssd"),), "bc"),
            ((term("disk Exists"),), "ab"),
            ((term("disk DoesNotExist"),), "c"),
            ((term("cores Gt 8"),), "b"),
            ((term("cores Lt 64"),), "a"),
            ((term("disk Exists", "cores Gt 8"),), "b"),
            ((term("disk In ssd"), term("cores Gt 8")), "ab"),
            ((term(names="metadata.name In b,c"),), "bc"),
            ((term("disk In hdd", names="metadata.name NotIn b"),), ""),
            ((term(),), ""),
            ((term(), term("disk In ssd")), "a"),
        ],
    )
    def test_one_alternative_must_hold_with_all_its_conditions(
        self, terms: tuple[NodeTerm, ...], passes: str
    ) -> None:
        judged = Judged(NodeAffinityFilter(), NODES, TaskSpec(node_affinity=terms))
        assert "".join(judged.passes) == passes

    def test_the_reason_is_the_condition(self) -> None:
        terms = (term("disk In tape", "cores Gt 8"), term("ssd Exists"), term())
        judged = Judged(NodeAffinityFilter(), NODES, TaskSpec(node_affinity=terms))
        assert judged.reasons["a"] == [NodeAffinityUnmet(terms)]


def wishing(**weights: int) -> TaskSpec:
    wishes = tuple(
        PreferredNodeTerm(weight, node_term(f"{label} Exists")) for label, weight in weights.items()
    )
    return TaskSpec(preferred_nodes=wishes)


@pytest.mark.covers("decide-3")
class TestScore:
    def test_a_node_is_rated_by_the_weight_of_the_wishes_that_it_fulfils(self) -> None:
        nodes = (
            Cluster()
            .node("both", labels={"x": "", "y": ""})
            .node("none")
            .node("x", labels={"x": ""})
            .node("y", labels={"y": ""})
        )
        found = rated(NodeAffinityScore(), nodes, wishing(x=30, y=10))
        assert found == {"both": 1000, "none": 0, "x": 750, "y": 250}

    def test_without_wishes_all_are_alike(self) -> None:
        assert rated(NodeAffinityScore(), NODES) is None

    @pytest.mark.covers("decide-5")
    def test_to_be_left_alone_is_a_wish_of_nodes_with_a_soft_taint(self) -> None:
        nodes = Cluster().node("clean").node("soft", taints=["x:PreferNoSchedule"])
        assert rated(NodeAffinityScore(), nodes) == {"clean": 1000, "soft": 0}

    @pytest.mark.covers("decide-5")
    def test_but_not_of_a_task_that_tolerates_it(self) -> None:
        nodes = Cluster().node("clean").node("soft", taints=["x:PreferNoSchedule"])
        assert rated(NodeAffinityScore(), nodes, TaskSpec(tolerations=(toleration("x"),))) is None

    def test_a_hard_taint_is_no_wish(self) -> None:
        nodes = Cluster().node("clean").node("hard", taints=["x:NoSchedule"])
        assert rated(NodeAffinityScore(), nodes) is None
