"""What must never be is found, by whom the tortured replicas are judged."""

from __future__ import annotations

from pathlib import Path

from msgspec import json

from rota.kube_objects.objects.pods import Pod
from tests.real.kube.audit import Audit
from tests.real.kube.pods import pod_for
from tests.real.kube.torture import Kind, drawn_strikes
from tests.real.kube.witness import Witness


def pod(name: str, node: str = "", *, cpu: str = "1", gang: str = "", uid: str = "") -> Pod:
    body = pod_for("us", name, cpu, gang=gang, least="2" if gang else "")
    body["metadata"]["uid"] = uid or f"uid-{name}"
    body["spec"]["nodeName"] = node
    return json.decode(json.encode(body), type=Pod)


class Cluster:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.witness = Witness(4, lambda: self.now_s)

    def bind(self, name: str, node: str = "n", **more: str) -> Pod:
        bound = pod(name, node, **more)
        self.witness.changed(pod(name, **more), bound)
        return bound


class TestWitness:
    def test_what_is_as_it_should_be(self) -> None:
        cluster = Cluster()
        first = cluster.bind("p", cpu="3")
        cluster.witness.changed(first, None)
        cluster.bind("q", cpu="4")
        assert not cluster.witness.faults
        assert cluster.witness.bindings == 2

    def test_a_node_with_more_than_it_has(self) -> None:
        cluster = Cluster()
        cluster.bind("p", cpu="3")
        cluster.bind("q", cpu="2")
        assert cluster.witness.faults == ["n holds 5 of 4 CPUs with q"]

    def test_a_pod_that_is_elsewhere_now(self) -> None:
        cluster = Cluster()
        cluster.witness.changed(cluster.bind("p"), pod("p", "other"))
        assert cluster.witness.faults == ["p was on n, and is on other", "p was bound more than once"]

    def test_how_long_a_gang_is_bound_in_part(self) -> None:
        cluster = Cluster()
        cluster.bind("g0", gang="g")
        assert cluster.witness.partial_gangs() == ["g"]
        cluster.now_s = 7.0
        second = cluster.bind("g1", gang="g")
        assert not cluster.witness.partial_gangs()
        # Once it was whole, it may lose a pod.
        cluster.witness.changed(second, None)
        assert not cluster.witness.partial_gangs()
        assert cluster.witness.longest_partial_s == 7.0

    def test_a_gang_that_is_undone_is_no_longer_partial(self) -> None:
        cluster = Cluster()
        cluster.witness.changed(cluster.bind("g0", gang="g"), None)
        assert not cluster.witness.partial_gangs()


def asked(at_s: int, account: str, what: str, code: int = 201) -> bytes:
    resource, _, name = what.partition("/")
    stamp = f"2030-01-01T00:00:{at_s:02}.000000Z"
    return json.encode(
        {
            "user": {"extra": {"authentication.kubernetes.io/credential-id": [account]}},
            "objectRef": {"resource": resource, "name": name},
            "requestReceivedTimestamp": stamp,
            "stageTimestamp": stamp,
            "responseStatus": {"code": code},
        }
    )


class TestAudit:
    def audit(self, folder: Path, *calls: bytes) -> Audit:
        file = folder / "audit.log"
        file.unlink(missing_ok=True)
        audit = Audit(file)
        file.write_bytes(b"".join(call + b"\n" for call in calls) + b'{"user": {')
        audit.read()
        return audit

    def test_whoever_wrote_the_lease_last_leads(self, tmp_path: Path) -> None:
        calls = asked(1, "a", "leases"), asked(2, "b", "leases", 409), asked(3, "a", "pods/p")
        audit = self.audit(tmp_path, *calls)
        assert audit.leader() == "a"
        assert audit.bound_by("a") == 1
        assert not audit.asked_by_others()

    def test_who_asks_while_another_leads(self, tmp_path: Path) -> None:
        frozen = asked(1, "a", "leases"), asked(2, "b", "leases"), asked(3, "a", "pods/o", 409)
        assert len(self.audit(tmp_path, *frozen).asked_by_others()) == 1
        assert not self.audit(tmp_path, *frozen).asked_by_others(frozen={"a"})
        calls = *frozen, asked(4, "a", "pods/p", 504)
        (fault,) = self.audit(tmp_path, *calls).asked_by_others(frozen={"a"})
        assert fault.startswith("a binding of p (504) was asked for at ")
        assert fault.endswith(" by a, while b led")

    def test_a_pod_that_is_bound_twice(self, tmp_path: Path) -> None:
        calls = asked(1, "a", "pods/p"), asked(2, "a", "pods/p"), asked(3, "a", "pods/q", 409)
        assert self.audit(tmp_path, *calls).bound_twice() == ["p was bound 2 times"]


def test_each_seed_kills_and_freezes() -> None:
    for seed in range(1, 20):
        kinds = [strike.kind for strike in drawn_strikes(seed)]
        assert (kinds.count(Kind.KILLED), kinds.count(Kind.FROZEN)) == (3, 2)
    assert drawn_strikes(7) == drawn_strikes(7) != drawn_strikes(8)
