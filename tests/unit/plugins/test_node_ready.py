"""Nodes that are down or cordoned."""

from rota.plugins.node_ready import NodeCordoned, NodeNotReady, NodeReadyFilter
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged


def test_they_take_nothing_new_and_say_which_of_both() -> None:
    nodes = (
        Cluster()
        .node("up")
        .node("down", ready=False)
        .node("closed", cordoned=True)
        .node("both", ready=False, cordoned=True)
    )
    judged = Judged(NodeReadyFilter(), nodes)
    assert judged.passes == ["up"]
    assert {name: {type(reason) for reason in reasons} for name, reasons in judged.reasons.items()} == {
        "down": {NodeNotReady},
        "closed": {NodeCordoned},
        "both": {NodeNotReady, NodeCordoned},
    }


def test_nodes_that_could_be_started_are_ready() -> None:
    judged = Judged(NodeReadyFilter(), Cluster().offer("o", limit=1))
    assert judged.passes == ["o#0"]
