"""How near a node is to where the task's data is."""

import pytest

from rota.plugins.proximity import ProximityScore
from tests.builders import Cluster
from tests.unit.plugins.judging import rated

pytestmark = pytest.mark.covers("decide-7")


def test_a_node_is_as_near_as_the_share_of_labels_that_match() -> None:
    nodes = (
        Cluster()
        .node("far")
        .node("here", labels={"region": "eu", "zone": "eu-1", "rack": "r1"})
        .node("region", labels={"region": "eu", "zone": "eu-2", "rack": "r9"})
        .node("zone", labels={"region": "eu", "zone": "eu-1"})
    )
    near = (("rack", "r1"), ("region", "eu"), ("zone", "eu-1"))
    found = rated(ProximityScore(), nodes, spec={"near": near})
    assert found == {"far": 0, "here": 1000, "region": 333, "zone": 666}


def test_short_names_of_zones_and_hosts_will_do() -> None:
    nodes = Cluster().node("a", labels={"topology.kubernetes.io/zone": "eu-1"}).node("b")
    assert rated(ProximityScore(), nodes, spec={"near": (("zone", "eu-1"),)}) == {"a": 1000, "b": 0}
    assert rated(ProximityScore(), nodes, spec={"near": (("host", "b"),)}) == {"a": 0, "b": 1000}


def test_a_task_that_is_near_to_nothing_is_as_well_off_anywhere() -> None:
    assert rated(ProximityScore(), Cluster().nodes("a b")) is None
