"""Nodes on which a task's volumes can't be used, and what is the matter with each."""

import pytest

from rota.model.reasons import VolumeInOtherZone, VolumeOutOfReach
from rota.model.selectors import NodeTerm, Operator, Requirement
from rota.model.task import TaskSpec, VolumeNodes, VolumeTrouble
from rota.plugins.volumes import VolumeFilter
from tests.builders import Cluster
from tests.unit.plugins.judging import Judged

pytestmark = pytest.mark.covers("kube-3")

NODES = Cluster().nodes("a b c")


def on(names: str, otherwise: VolumeTrouble = VolumeTrouble.OUT_OF_REACH) -> VolumeNodes:
    terms = (NodeTerm(names=(Requirement("metadata.name", Operator.IN, tuple(names)),)),) if names else ()
    return VolumeNodes(terms, otherwise)


def judged(*volumes: VolumeNodes) -> Judged:
    return Judged(VolumeFilter(), NODES, TaskSpec(volume_nodes=volumes))


def test_without_volumes_every_node_will_do() -> None:
    assert judged().says_all


def test_a_node_must_do_for_every_volume() -> None:
    assert judged(on("ab"), on("bc")).passes == ["b"]


def test_a_volume_that_can_be_used_nowhere() -> None:
    assert judged(on("")).passes == []


def test_each_node_has_its_reason() -> None:
    found = judged(on("ab"), on("ac", VolumeTrouble.ZONE))
    assert found.reasons == {"b": [VolumeInOtherZone()], "c": [VolumeOutOfReach()]}


def test_what_is_out_of_reach_and_whether_there_are_others_is_told_together() -> None:
    found = judged(on("a"), on("ab", VolumeTrouble.UNBOUND))
    both = VolumeOutOfReach((VolumeTrouble.UNBOUND,))
    assert found.reasons == {"b": [VolumeOutOfReach()], "c": [both]}
