"""What pods used counts after they ended, and after the scheduler did."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from rota.kube.api.errors import Call, KubeError, api_error
from rota.kube.api.objects import ConfigMap, Status
from rota.kube.mirror.mirror import Mirror
from rota.kube.scheduling.usage import WRITTEN_EVERY_S, Kept, PodUsage, UsageKeeper
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from rota.model.cluster import TenantUsage
from rota.model.ids import NodeName, TaskName
from rota.model.policy import FairShare, Policy, QueuePolicy, QueueStrategy, SchedulerPolicy, TenantLabel
from tests.unit.kube.pods import SCHEDULER, node, pod

pytestmark = pytest.mark.covers("kube-11")

HOUR_MS = 3_600_000
P = TaskName("default/p")
FAIR = Policy(
    schedulers=(
        SchedulerPolicy(
            queues=(QueuePolicy(strategy=QueueStrategy.FAIR, tenant_key=TenantLabel("namespace")),)
        ),
    ),
    fair_share=FairShare(half_life_ms=1000 * HOUR_MS),
)


class Replica:
    """One that follows the cluster; the test sets its clock."""

    def __init__(self) -> None:
        self.now_ms = 2_000_000_000_000
        self.usage = PodUsage(FAIR, lambda: self.now_ms)
        self.mirror = Mirror(SCHEDULER, DEFAULT_GANG_KEYS, lambda: None, FAIR, self.usage.observed)
        self.mirror.node_changed(None, node("n"))

    def shows(self, old: Any, new: Any) -> None:
        self.mirror.pod_changed(old, new)
        self.mirror.settle(0.0)

    def used_s(self) -> dict[str, float]:
        """CPU seconds, by tenant."""
        return {one.path: dict(one.amounts)["cpu"] / 1000 for one in self.usage.kept().tenants}

    def runs_for(self, seconds: int) -> None:
        waits, runs = pod("p"), pod("p", node="n")
        self.shows(None, waits)
        self.shows(waits, runs)
        self.now_ms += 1000 * seconds
        self.shows(runs, None)


class Server:
    """Holds one ConfigMap, and refuses what it is told to."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.refusals: list[int] = []
        self.writes = 0

    def _refuse(self, verb: str) -> None:
        if self.refusals and (code := self.refusals.pop(0)):
            raise refusal(verb, code)

    async def get(self, resource: Any, name: str, namespace: str = "") -> Any:
        self._refuse("get")
        if self.data is None:
            raise refusal("get", 404)
        return ConfigMap(Metadata(name=name), self.data)

    async def create(self, resource: Any, body: Any, namespace: str = "") -> Any:
        self._refuse("create")
        assert body["metadata"]["name"] == "s-usage"
        self.data, self.writes = body["data"], self.writes + 1

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "") -> Any:
        self._refuse("patch")
        if self.data is None:
            raise refusal("patch", 404)
        self.data, self.writes = change["data"], self.writes + 1


def refusal(verb: str, code: int) -> KubeError:
    reason = "AlreadyExists" if code == 409 else ""
    return api_error(Call(verb, "configmaps", ""), Status(code=code, reason=reason))


def keeper(server: Server, usage: PodUsage) -> UsageKeeper:
    return UsageKeeper(server, server, "here", "s-usage", usage)


def test_a_pod_is_charged_when_it_ends() -> None:
    replica = Replica()
    replica.runs_for(60)
    assert replica.used_s() == {
        "default/default": pytest.approx(60, rel=1e-3),
        "namespace default": pytest.approx(60, rel=1e-3),
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_one_that_is_over_is_charged_though_it_is_still_there(phase: str) -> None:
    replica = Replica()
    runs, over = pod("p", node="n"), pod("p", node="n", phase=phase)
    replica.now_ms = 1_893_456_000_000  # when pods of these tests are created
    replica.shows(None, runs)
    replica.now_ms += 10_000
    replica.shows(runs, over)
    replica.shows(over, None)
    assert replica.used_s()["default/default"] == pytest.approx(10, rel=1e-3)


def test_one_that_wasnt_bound_after_all_is_not_charged() -> None:
    replica = Replica()
    replica.shows(None, pod("p"))
    replica.mirror.assume({P: NodeName("n")})
    replica.mirror.settle(0.0)
    replica.now_ms += 60_000
    replica.mirror.forget([P])
    replica.mirror.settle(0.0)
    assert replica.used_s() == {}


def test_it_is_shown_once_for_each_change() -> None:
    replica = Replica()
    replica.runs_for(60)
    replica.usage.show(replica.mirror.state)
    shown = replica.mirror.state.snapshot()
    assert {one.path for one in shown.usage} == {"default/default", "namespace default"}
    replica.usage.show(replica.mirror.state)
    assert replica.mirror.state.snapshot().generation == shown.generation


async def test_whoever_leads_next_goes_on_with_it() -> None:
    server, first = Server(), Replica()
    first.runs_for(60)
    await keeper(server, first.usage).save()
    second = Replica()
    await keeper(server, second.usage).load()
    assert second.used_s() == first.used_s()


async def test_what_ended_since_it_was_written_was_seen_by_the_others() -> None:
    server, first, second = Server(), Replica(), Replica()
    for replica in (first, second):
        replica.runs_for(60)
    await keeper(server, first.usage).save()
    for replica in (first, second):
        replica.runs_for(30)
    await keeper(server, second.usage).load()
    assert second.used_s() == first.used_s()


async def test_nothing_new_is_not_written() -> None:
    server, replica = Server(), Replica()
    kept = keeper(server, replica.usage)
    await kept.save()
    assert server.writes == 0
    replica.runs_for(60)
    await kept.save()
    await kept.save()
    assert server.writes == 1


@pytest.mark.virtual_time
async def test_it_is_written_rarely() -> None:
    server, replica = Server(), Replica()
    running = asyncio.create_task(keeper(server, replica.usage).run())
    for _ in range(10):
        replica.runs_for(1)
        await asyncio.sleep(WRITTEN_EVERY_S / 10 + 0.1)
    running.cancel()
    assert server.writes == 1


async def test_what_cant_be_written_is_tried_again() -> None:
    server, replica = Server(), Replica()
    replica.runs_for(60)
    server.refusals = [403]
    kept = keeper(server, replica.usage)
    await kept.save()
    assert (server.writes, replica.usage.is_written) == (0, False)
    await kept.save_at_last()
    assert (server.writes, replica.usage.is_written) == (1, True)


@pytest.mark.parametrize("data", [{}, {"usage.json": "nonsense"}, {"usage.json": '{"tenants": 1}'}])
async def test_what_cant_be_read_is_counted_anew(data: dict[str, str]) -> None:
    server, replica = Server(), Replica()
    server.data = data
    await keeper(server, replica.usage).load()
    assert replica.used_s() == {}


async def test_another_may_have_made_it_first() -> None:
    server, replica = Server(), Replica()
    replica.runs_for(60)
    server.refusals = [404, 409]
    server.data = {}
    await keeper(server, replica.usage).save()
    assert "namespace default" in str(server.data)
    assert msgspec.json.decode(server.data["usage.json"])["written_ms"] == replica.now_ms


def test_there_is_room_for_those_who_used_something_last() -> None:
    replica = Replica()
    before = [TenantUsage(f"{'x' * 200}{number}/u", number, (("cpu", 1),)) for number in range(5_000)]
    replica.usage.restore(Kept(0, before))
    kept = replica.usage.kept()
    assert 0 < len(msgspec.json.encode(kept)) < 1_000_000
    assert [one.as_of_ms for one in kept.tenants[:3]] == [4999, 4998, 4997]
