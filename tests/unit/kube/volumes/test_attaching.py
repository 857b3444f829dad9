"""How many volumes nodes can hold, and who holds which."""

from __future__ import annotations

from collections import Counter

import pytest

from rota.kube.volumes.attaching import Attached, Attaching
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName, TaskName
from tests.unit.kube.storage import csi_node

pytestmark = pytest.mark.covers("kube-3")

M, N = NodeName("m"), NodeName("n")
P, Q = TaskName("default/p"), TaskName("default/q")
ONE, TWO = ClaimKey("default", "one"), ClaimKey("default", "two")
DRIVER = "disk.example.com"


def attached_of(key: ClaimKey) -> Attached:
    return Attached(DRIVER, key.name)


def test_drivers_are_limited_where_a_node_says_so() -> None:
    known = Attaching()
    assert known.limits(N, csi_node("n", disk=3))
    assert known.is_limited(DRIVER)
    assert not known.limits(M, csi_node("m", disk=5)), "no other driver than before"
    assert list(known.room(N, Counter())) == [(f"volumes:{DRIVER}", 3)]
    assert not known.limits(M, None)
    assert known.limits(N, csi_node("n"))
    assert not known.any


def test_room_is_less_what_nobody_uses_any_more() -> None:
    known = Attaching()
    known.limits(N, csi_node("n", disk=3))
    assert list(known.room(N, Counter({DRIVER: 2}))) == [(f"volumes:{DRIVER}", 1)]
    assert list(known.room(N, Counter({DRIVER: 9}))) == [(f"volumes:{DRIVER}", 0)]


def test_a_volume_counts_once_on_a_node() -> None:
    known = Attaching()
    assert known.counts_for(P, ONE)
    known.placed(Q, [ONE], N)
    known.placed(P, [ONE], N)
    assert known.counts_for(P, ONE), "the first of them by name"
    assert not known.counts_for(Q, ONE)
    known.gone(P, [ONE])
    assert known.counts_for(Q, ONE)
    known.placed(P, [ONE], M)
    assert known.counts_for(P, ONE), "on another node it counts again"


def test_nodes_that_are_full_but_for_who_shares() -> None:
    known = Attaching()
    for name in "mn":
        known.limits(NodeName(name), csi_node(name, disk=1))
    known.placed(P, [ONE], N)
    known.placed(Q, [TWO], M)
    assert known.full({attached_of(ONE)}, attached_of) == {M}
    assert known.full({attached_of(ONE), attached_of(TWO)}, attached_of) == {M, N}


def test_nothing_is_kept_of_who_is_gone() -> None:
    known = Attaching()
    known.placed(P, [ONE, ONE, TWO], N)
    known.gone(P, [ONE, TWO])
    known.gone(P, [ONE, TWO])
    assert known.held(N, attached_of) == set()
    assert not known._users
    assert not known._on_node
