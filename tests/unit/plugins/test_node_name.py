"""A task for which somebody has chosen the node already."""

import pytest

from rota.plugins.node_name import NodeNameFilter, OtherNodeNamed
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

NODES = Cluster().nodes("a b c")


@pytest.mark.covers("kube-3")
@pytest.mark.parametrize(("name", "passes"), [("", ["a", "b", "c"]), ("b", ["b"]), ("gone", [])])
def test_no_other_node_will_do(name: str, passes: list[str]) -> None:
    assert Judged(NodeNameFilter(), NODES, spec={"node_name": name}).passes == passes


def test_the_reason_names_the_node() -> None:
    judged = Judged(NodeNameFilter(), NODES, spec={"node_name": "b"})
    assert judged.reasons["c"] == [OtherNodeNamed("b")]
