"""How many volumes nodes can hold, and who holds which."""

from __future__ import annotations

import msgspec
import pytest

from rota.kube.api.objects import VolumeAttachment
from rota.kube.volumes.attaching import Attaching
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName, TaskName
from tests.unit.kube.storage import claim, csi_node, storage_class, volume

pytestmark = pytest.mark.covers("kube-3")

M, N = NodeName("m"), NodeName("n")
P, Q = TaskName("default/p"), TaskName("default/q")
ONE, TWO = ClaimKey("default", "one"), ClaimKey("default", "two")
DRIVER = "disk.example.com"
ROW = f"volumes:{DRIVER}"


def cluster(**limits: int) -> Attaching:
    """Claims that are bound to a volume each; nodes with so many places for them."""
    claims = {key: claim(key.name, volume=f"v-{key.name}") for key in (ONE, TWO)}
    volumes = {f"v-{key.name}": volume(f"v-{key.name}", driver=DRIVER) for key in (ONE, TWO)}
    known = Attaching(claims, volumes, {})
    for name, limit in limits.items():
        known.limits(NodeName(name), csi_node(name, disk=limit))
    return known


def attachment(name: str, node: str) -> VolumeAttachment:
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": name}}
    return msgspec.convert({"metadata": {"name": f"csi-{name}"}, "spec": spec}, VolumeAttachment)


def refused_by(known: Attaching, name: TaskName, *claims: ClaimKey) -> set[str]:
    return {
        node
        for rule in known.rules(name, claims)
        for term in rule.terms
        for names in term.names
        for node in names.values
    }


def test_drivers_are_limited_where_a_node_says_so() -> None:
    known = cluster()
    assert known.limits(N, csi_node("n", disk=3))
    assert list(known.rows(P, [ONE])) == [(ROW, 1)]
    assert not known.limits(M, csi_node("m", disk=5)), "no other driver than before"
    assert list(known.room(N)) == [(ROW, 3)]
    assert not known.limits(M, None)
    assert known.limits(N, csi_node("n"))
    assert not known.any
    assert list(known.rows(P, [ONE])) == []


def test_a_volume_that_is_yet_to_be_made_counts_for_its_driver() -> None:
    known = Attaching(
        {ONE: claim("one", storage_class="fast")}, {}, {"fast": storage_class("fast", provisioner=DRIVER)}
    )
    known.limits(N, csi_node("n", disk=3))
    assert list(known.rows(P, [ONE])) == [(ROW, 1)]


def test_room_is_less_what_nobody_uses_any_more() -> None:
    known = cluster(n=1)
    known.attachment("csi-v-one", None, attachment("v-one", "n"))
    assert list(known.room(N)) == [(ROW, 0)]
    known.attachment("csi-v-two", None, attachment("v-two", "n"))
    assert list(known.room(N)) == [(ROW, 0)]
    known.attachment("csi-v-two", attachment("v-two", "n"), None)
    known.placed(P, [ONE], N)
    assert list(known.room(N)) == [(ROW, 1)], "its user takes the room"


def test_a_volume_counts_once_on_a_node() -> None:
    known = cluster(m=9, n=9)
    assert list(known.rows(P, [ONE]))
    known.placed(Q, [ONE], N)
    known.placed(P, [ONE], N)
    assert list(known.rows(P, [ONE])), "the first of them by name"
    assert not list(known.rows(Q, [ONE]))
    known.gone(P, [ONE])
    assert list(known.rows(Q, [ONE]))
    known.placed(P, [ONE], M)
    assert list(known.rows(P, [ONE])), "on another node it counts again"


def test_nodes_that_are_full_but_for_who_shares() -> None:
    known = cluster(m=1, n=1)
    known.placed(P, [ONE], N)
    known.placed(Q, [TWO], M)
    newcomer = TaskName("default/r")
    assert refused_by(known, newcomer, ONE) == {M}
    assert refused_by(known, newcomer, ONE, TWO) == {M, N}


def test_nothing_is_kept_of_who_is_gone() -> None:
    known = cluster(n=1)
    known.placed(P, [ONE, ONE, TWO], N)
    known.gone(P, [ONE, TWO])
    known.gone(P, [ONE, TWO])
    assert not known._users
    assert not known._on_node
