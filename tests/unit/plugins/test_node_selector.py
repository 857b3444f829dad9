"""Labels that a node must have."""

import pytest

from rota.plugins.node_selector import NodeSelectorFilter, NodeSelectorUnmet
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("decide-3")

NODES = (
    Cluster()
    .node("both", labels={"disk": "ssd", "net": "fast"})
    .node("ssd", labels={"disk": "ssd"})
    .node("hdd", labels={"disk": "hdd", "net": "fast"})
    .node("none")
)


@pytest.mark.parametrize(
    ("selector", "passes"),
    [
        ({}, {"both", "ssd", "hdd", "none"}),
        ({"disk": "ssd"}, {"both", "ssd"}),
        ({"disk": "ssd", "net": "fast"}, {"both"}),
        ({"disk": "tape"}, set()),
        ({"rack": "1"}, set()),
        ({"disk": ""}, set()),
    ],
)
def test_a_node_must_have_them_all(selector: dict[str, str], passes: set[str]) -> None:
    assert set(Judged(NodeSelectorFilter(), NODES, selector=selector).passes) == passes


def test_there_is_a_reason_for_each_label_that_a_node_lacks() -> None:
    judged = Judged(NodeSelectorFilter(), NODES, selector={"disk": "ssd", "net": "fast"})
    disk, net = NodeSelectorUnmet("disk", "ssd"), NodeSelectorUnmet("net", "fast")
    assert judged.reasons == {"ssd": [net], "hdd": [disk], "none": [disk, net]}


def test_labels_are_taken_as_they_are() -> None:
    nodes = Cluster().node("a", labels={"topology.kubernetes.io/zone": "x"}).node("b", zone="x")
    assert Judged(NodeSelectorFilter(), nodes, selector={"zone": "x"}).passes == ["b"]
