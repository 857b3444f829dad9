"""A cluster read by lists alone."""

from __future__ import annotations

import asyncio

import pytest

from rota.kube.api.decoding import Unreadable
from rota.kube.api.errors import Forbidden
from rota.kube.api.resources import CLAIMS, NODES, PLUGIN_GROUPS, PODS
from rota.kube.mirror.read_once import PodsRead, read_once
from rota.kube_objects.objects.metadata import Metadata
from rota.model.ids import JobId
from tests.unit.kube.pods import Told, node, pod
from tests.unit.kube.still_cluster import StillCluster

pytestmark = pytest.mark.covers("kube-7")


@pytest.fixture
def still() -> StillCluster:
    made = StillCluster()
    made.add(NODES, node("n"))
    return made


def read(still: StillCluster) -> tuple[PodsRead, Told]:
    told = Told()
    return asyncio.run(read_once(still, told.mirror)), told


def test_gangs_are_as_large_as_they_are_now(still: StillCluster) -> None:
    still.add(PODS, pod("p", gang="g"), pod("q", gang="g"))
    _, told = read(still)
    assert told.mirror.state.record(JobId("default/gang:g")).job.template.min_count == 2


def test_pods_of_others_are_known_too(still: StillCluster) -> None:
    still.add(PODS, pod("p"), pod("theirs", scheduler="another"))
    found, told = read(still)
    assert set(found.pods) == {"default/p", "default/theirs"}
    assert told.mirror.state.waiting_count == 1


def test_what_cant_be_read_is_told(still: StillCluster) -> None:
    still.unreadable[PODS.path()] = [Unreadable(Metadata(name="p", namespace="default"), "no operator")]
    assert read(still)[0].unreadable == {"default/p": "no operator"}


def test_a_list_that_expires_is_read_in_one_go(still: StillCluster) -> None:
    still.add(PODS, pod("p"))
    still.refuse(PODS, 410, None)
    assert set(read(still)[0].pods) == {"default/p"}


def test_who_may_not_list_is_told(still: StillCluster) -> None:
    still.refuse(CLAIMS, 403)
    with pytest.raises(Forbidden, match="persistentvolumeclaims"):
        read(still)


@pytest.mark.parametrize("code", [403, 404])
def test_what_a_cluster_need_not_have(still: StillCluster, code: int) -> None:
    still.add(PODS, pod("p"))
    still.refuse(PLUGIN_GROUPS, code)
    assert set(read(still)[0].pods) == {"default/p"}
