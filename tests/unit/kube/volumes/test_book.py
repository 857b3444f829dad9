"""What follows for pods from what is known of volumes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rota.kube.api.objects import CsiDriver, StorageCapacity, VolumeAttachment
from rota.kube.mirror.reasons import (
    ClaimAwaited,
    ClaimEnding,
    ClaimLost,
    ClaimMissing,
    ClaimOfAnother,
    ClaimsUnbound,
    VolumeMissing,
)
from rota.kube_objects.objects.volumes import PersistentVolumeClaim
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName, TaskName
from tests.unit.kube.pods import node, pod
from tests.unit.kube.storage import claim, csi_node, pod_with, storage_class, volume
from tests.unit.kube.volumes.cluster import Volumes

pytestmark = pytest.mark.covers("kube-3")

P, Q = TaskName("default/p"), TaskName("default/q")
M, N = NodeName("m"), NodeName("n")
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"


@pytest.fixture
def known() -> Volumes:
    return Volumes(node("m", host="m"), node("n", host="n"))


class TestBound:
    def test_a_pod_goes_where_its_volumes_can_be_used(self, known: Volumes) -> None:
        known.add(volume("v", on="n"), claim("data", volume="v"))
        assert known.reasons(pod_with("p", "data")) == [f"1 {OUT_OF_REACH}"]

    def test_or_where_its_zones_are(self) -> None:
        zone, old = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
        places: list[tuple[str, dict[str, Any]]] = [("a", {zone: "1"}), ("b", {zone: "2"}), ("c", {old: "1"})]
        known = Volumes(*(node(name, **labels) for name, labels in places), node("d"))
        known.add(volume("v", labels={zone: "2__3"}), claim("data", volume="v"))
        known.add(volume("w", labels={old: "2"}), claim("more", volume="w"))
        elsewhere = "node(s) had no available volume zone"
        assert known.reasons(pod_with("p", "data")) == [f"2 {elsewhere}"]
        assert known.reasons(pod_with("q", "more")) == [f"2 {elsewhere}"]
        assert set(known.bound_to(pod_with("r", "data"))) <= {"b", "d"}


class TestLocal:
    @pytest.fixture(autouse=True)
    def _class(self, known: Volumes) -> None:
        known.add(storage_class("local"))

    def test_only_nodes_with_volumes_will_do(self, known: Volumes) -> None:
        known.add(volume("v", storage_class="local", on="n"), claim("data", storage_class="local"))
        assert known.reasons(pod_with("p", "data")) == [f"1 {NO_VOLUME}"]
        assert known.bound_to(pod_with("q", "data")) == ["n"]

    def test_two_claims_need_two_volumes(self, known: Volumes) -> None:
        known.add(volume("v1", storage_class="local", on="n"), volume("v2", storage_class="local", on="m"))
        known.add(claim("one", storage_class="local"), claim("two", storage_class="local"))
        two = pod_with("p", "one", "two")
        assert known.reasons(two) == [f"2 {NO_VOLUME}"]
        known.add(volume("v3", storage_class="local", on="n"))
        assert known.bound_to(two) == ["n"]

    def test_a_large_volume_is_not_counted_for_two(self, known: Volumes) -> None:
        known.add(volume("v", storage_class="local", size="9Gi", on="n"))
        known.add(claim("one", storage_class="local"), claim("two", storage_class="local", size="5Gi"))
        assert known.reasons(pod_with("p", "one", "two")) == [f"2 {NO_VOLUME}"]

    def test_bound_and_unbound_are_both_told(self, known: Volumes) -> None:
        known.add(volume("v", on="n"), claim("data", volume="v"), claim("more", storage_class="local"))
        assert known.reasons(pod_with("p", "data", "more")) == [f"1 {OUT_OF_REACH}", f"2 {NO_VOLUME}"]

    def test_a_gang_is_spread_over_the_volumes_that_there_are(self, known: Volumes) -> None:
        """On one node there would be room for both, and volumes for one."""
        for name in "mn":
            known.add(volume(f"v{name}", storage_class="local", on=name))
            known.add(claim(f"data-{name}", storage_class="local"))
        members = [pod_with(name, f"data-{name}", gang="g", least="2", cpu="100m") for name in "mn"]
        assert sorted(known.bound_to(*members)) == ["m", "n"]

    def test_what_is_reserved_is_taken_until_it_is_released(self, known: Volumes) -> None:
        known.add(volume("v", storage_class="local", on="n"))
        known.add(claim("one", storage_class="local"), claim("two", storage_class="local"))
        first, second = pod_with("p", "one"), pod_with("q", "two")
        assert known.book.reserve(P, first, N)
        reservation = known.book.reservation(P)
        assert reservation is not None
        assert reservation.volumes == {ClaimKey("default", "one"): "v"}
        assert not known.book.reserve(Q, second, N)
        known.book.release(P, first)
        assert known.book.reservation(P) is None
        assert known.book.reserve(Q, second, N)

    def test_who_shares_a_claim_goes_where_its_volume_is(self, known: Volumes) -> None:
        for name in "mn":
            known.add(volume(f"v{name}", storage_class="local", on=name))
        known.add(claim("data", storage_class="local"))
        assert known.book.reserve(P, pod_with("p", "data"), M)
        assert known.bound_to(pod_with("q", "data")) == ["m"]

    def test_a_volume_that_is_kept_for_a_claim_is_its_only_one(self, known: Volumes) -> None:
        known.add(volume("v", storage_class="local", on="n", kept_for="data"))
        known.add(volume("w", storage_class="local", on="m"))
        known.add(claim("data", storage_class="local"), claim("other", storage_class="local"))
        assert known.bound_to(pod_with("p", "data")) == ["n"]
        assert known.bound_to(pod_with("q", "other")) == ["m"]


class TestMade:
    def test_anywhere_unless_the_class_says_where(self, known: Volumes) -> None:
        only_m = [{"matchLabelExpressions": [{"key": "host", "values": ["m"]}]}]
        known.add(storage_class("any", "made.example.com"))
        known.add(storage_class("some", "made.example.com", allowedTopologies=only_m))
        known.add(claim("data", storage_class="any"), claim("more", storage_class="some"))
        assert known.reasons(pod_with("p", "data")) == []
        assert known.reasons(pod_with("q", "more")) == [f"1 {NO_VOLUME}"]

    def test_where_it_is_being_made(self, known: Volumes) -> None:
        known.add(storage_class("any", "made.example.com"), claim("data", storage_class="any", selected="n"))
        assert known.bound_to(pod_with("p", "data")) == ["n"]

    def test_where_there_is_space_if_its_driver_asks_for_that(self, known: Volumes) -> None:
        known.add(storage_class("any", "made.example.com"), claim("data", storage_class="any", size="5Gi"))
        driver = {"metadata": {"name": "made.example.com"}, "spec": {"storageCapacity": True}}
        for name, capacity in (("m", "2Gi"), ("n", "9Gi")):
            body = {
                "metadata": {"name": name, "namespace": "kube-system"},
                "storageClassName": "any",
                "nodeTopology": {"matchLabels": {"host": name}},
                "capacity": capacity,
            }
            known.book.capacity(None, msgspec.convert(body, StorageCapacity))
        assert known.reasons(pod_with("p", "data")) == []
        known.book.driver(None, msgspec.convert(driver, CsiDriver))
        assert known.reasons(pod_with("q", "data")) == ["1 node(s) did not have enough free storage"]

    def test_a_volume_that_is_there_is_taken_first(self, known: Volumes) -> None:
        known.add(storage_class("any", "made.example.com"), claim("data", storage_class="any"))
        known.add(volume("v", storage_class="any", on="n"))
        one = pod_with("p", "data")
        assert known.book.reserve(P, one, N)
        reservation = known.book.reservation(P)
        assert reservation is not None
        assert (list(reservation.volumes.values()), reservation.made) == (["v"], ())
        known.book.release(P, one)
        assert known.book.reserve(P, one, M)
        reservation = known.book.reservation(P)
        assert reservation is not None
        assert (reservation.volumes, reservation.made) == ({}, (ClaimKey("default", "data"),))


class TestLimits:
    FULL = "node(s) exceed max volume count"

    @pytest.fixture(autouse=True)
    def _limits(self, known: Volumes) -> None:
        for name in "mn":
            known.book.csi_node(None, csi_node(name, disk=1))
        for name in ("one", "two", "three"):
            known.add(volume(f"v-{name}", driver="disk.example.com"), claim(name, volume=f"v-{name}"))

    def test_volumes_of_those_who_run_take_room(self, known: Volumes) -> None:
        known.run(pod_with("q", "one", node="n"))
        assert known.bound_to(pod_with("p", "two")) == ["m"]
        assert known.reasons(pod_with("r", "two", "three")) == [f"2 {self.FULL}"]

    def test_a_volume_that_is_there_already_takes_none(self, known: Volumes) -> None:
        known.run(pod_with("q", "one", node="n"), pod_with("r", "two", node="m"))
        assert known.bound_to(pod_with("p", "one")) == ["n"]
        assert known.reasons(pod_with("s", "three")) == [f"2 {self.FULL}"]

    def test_nor_do_volumes_of_drivers_without_a_limit(self, known: Volumes) -> None:
        known.add(volume("w", driver="other.example.com"), claim("other", volume="w"))
        known.run(pod_with("q", "one", node="n"), pod_with("r", "two", node="m"))
        assert known.reasons(pod_with("p", "other")) == []

    def test_what_is_attached_and_not_used_takes_room(self, known: Volumes) -> None:
        for name in "mn":
            source = {"persistentVolumeName": "v-one"}
            spec = {"attacher": "disk.example.com", "nodeName": name, "source": source}
            body = {"metadata": {"name": f"csi-{name}"}, "spec": spec}
            known.book.attachment(None, msgspec.convert(body, VolumeAttachment))
        known.run(pod_with("q", "one", node="n"))
        assert known.reasons(pod_with("p", "two")) == [f"2 {self.FULL}"]


class TestOneAtATime:
    IN_USE = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use"
        " by another pod"
    )

    def test_nowhere_while_another_uses_it(self, known: Volumes) -> None:
        known.add(volume("v"), claim("data", volume="v", modes=("ReadWriteOncePod",)))
        known.run(user := pod_with("q", "data", node="n"))
        assert known.reasons(waits := pod_with("p", "data")) == [f"2 {self.IN_USE}"]
        known.gone(user)
        assert known.reasons(waits) == []

    def test_who_is_less_important_goes(self, known: Volumes) -> None:
        known.add(volume("v"), claim("data", volume="v", modes=("ReadWriteOncePod",)))
        known.run(pod_with("q", "data", node="n", priority=-5))
        assert known.evicted_for(pod_with("p", "data", priority=5)) == ["default/q"]


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, False),
        (
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            True,
        ),
        ({"iscsi": {"iqn": "d", "readOnly": True}}, {"iscsi": {"iqn": "d"}}, True),
        (
            {"rbd": {"monitors": ["1", "2"], "image": "d"}},
            {"rbd": {"monitors": ["2", "3"], "image": "d", "pool": "rbd"}},
            True,
        ),
        (
            {"rbd": {"monitors": ["1"], "image": "d"}},
            {"rbd": {"monitors": ["2"], "image": "d"}},
            False,
        ),
    ],
)
def test_disks_that_one_node_uses_once(first: Any, second: Any, is_refused: bool) -> None:
    known = Volumes(node("n"))
    known.run(pod("q", node="n", cpu="100m", volumes=[{"name": "d", **first}]))
    found = known.reasons(pod("p", cpu="100m", volumes=[{"name": "d", **second}]))
    assert found == (["1 node(s) had no available disk"] if is_refused else [])


class TestHolds:
    def test_claims_that_arent_there(self, known: Volumes) -> None:
        assert known.book.hold(pod_with("p", "data")) == ClaimMissing("data")
        lives_with_it = pod("p", volumes=[{"name": "scratch", "ephemeral": {}}])
        assert known.book.hold(lives_with_it) == ClaimAwaited("p-scratch")
        known.add(claim("p-scratch", volume="v"))
        assert known.book.hold(lives_with_it) == ClaimOfAnother("default/p-scratch")

    def test_claims_that_somebody_else_has_to_bind(self, known: Volumes) -> None:
        known.add(claim("data", storage_class="fast"))
        assert known.book.hold(pod_with("p", "data")) == ClaimsUnbound(), "there is no such class"
        known.add(storage_class("fast", mode="Immediate"))
        assert known.book.hold(pod_with("p", "data")) == ClaimsUnbound()
        known.add(storage_class("late"), claim("more", storage_class="late", volumeName="v"))
        assert known.book.hold(pod_with("p", "more")) == ClaimsUnbound(), "a volume is named, not agreed upon"

    def test_claims_whose_volume_is_gone(self, known: Volumes) -> None:
        known.add(claim("data", volume="v"))
        assert known.book.hold(pod_with("p", "data")) == VolumeMissing("v")
        known.add(_with(claim("data", volume="v"), status={"phase": "Lost"}))
        assert known.book.hold(pod_with("p", "data")) == ClaimLost("data", "v")

    def test_claims_that_are_on_their_way_out(self, known: Volumes) -> None:
        ending = claim("data", volume="v")
        ending.metadata.deletion_timestamp = pod("x").metadata.creation_timestamp
        known.add(volume("v"), ending)
        assert known.book.hold(pod_with("p", "data")) == ClaimEnding("data")


def _with(found: PersistentVolumeClaim, **more: Any) -> PersistentVolumeClaim:
    return msgspec.convert({**msgspec.to_builtins(found), **more}, PersistentVolumeClaim)
