"""Which nodes meet conditions on nodes."""

from __future__ import annotations

from rota.kube.volumes.reach import Reach
from rota.model.ids import NodeName
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector

A, B, C = (NodeName(name) for name in "abc")


def term(*requirements: Requirement) -> NodeTerm:
    return NodeTerm(Selector(requirements))


HOSTS = Requirement("host", Operator.IN, ("a", "b"))
FAST = Requirement("disk", Operator.EXISTS)


def reach() -> Reach:
    made = Reach()
    for name, more in ((A, {"disk": "ssd"}), (B, {}), (C, {"disk": "hdd"})):
        made.node(name, {"host": name, **more})
    return made


def test_one_of_the_terms_must_hold_and_all_of_its_conditions() -> None:
    known = reach()
    assert known.of((term(HOSTS),)) == {A, B}
    assert known.of((term(HOSTS, FAST),)) == {A}
    assert known.of((term(FAST), term(Requirement("host", Operator.NOT_IN, ("a", "c"))))) == {A, B, C}
    assert known.of((NodeTerm(names=(Requirement("metadata.name", Operator.IN, ("c",)),)),)) == {C}


def test_no_terms_hold_everywhere_and_an_empty_one_nowhere() -> None:
    assert reach().of(()) == {A, B, C}
    assert reach().of((NodeTerm(),)) == set()


def test_nodes_that_change_are_looked_at_again() -> None:
    known = reach()
    assert known.of((term(FAST),)) == {A, C}
    assert known.node(B, {"host": "b", "disk": "ssd"})
    assert known.node(A, None)
    assert known.of((term(FAST),)) == {B, C}
    assert known.of((term(HOSTS),)) == {B}
    assert not known.node(B, {"host": "b", "disk": "ssd"})
