"""What operators say of an agent's node goes before what it says itself."""

from __future__ import annotations

from rota.control.memory import Memory
from rota.model.ids import NodeName
from rota.model.node import Node, NodeSpec
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint
from rota.store.writing.batch import Agent, AgentNode, Batch

OWN, SAID = Taint("own", Effect.NO_SCHEDULE), Taint("said", Effect.NO_SCHEDULE)
SPEC = NodeSpec(
    Resources(), pool="mine", labels=(("a", "1"), ("b", "2")), taints=(OWN,), price_micro_per_hour=3
)


def shown(node: AgentNode) -> NodeSpec:
    memory = Memory(Policy())
    memory.set_nodes([Node(NodeName("m1"), SPEC)])
    memory.absorb(Batch(agents=[Agent("m1", 0, "ada", (), node)]))
    found = memory.node(NodeName("m1"))
    assert found is not None
    return found.spec


def test_what_is_said_wins() -> None:
    spec = shown(AgentNode("gpu", (("b", "9"), ("c", "3")), (SAID,), 7))
    assert (spec.pool, spec.price_micro_per_hour) == ("gpu", 7)
    assert spec.labels == (("a", "1"), ("b", "9"), ("c", "3"))
    assert spec.taints == (OWN, SAID)


def test_what_is_not_said_stays() -> None:
    assert shown(AgentNode()) == SPEC
