"""Plans carried out on an API server that refuses, forgets to answer, or has changed since."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rota.intake.kubernetes.objects import Pod
from rota.kube.api.errors import (
    Call,
    Conflict,
    Forbidden,
    KubeError,
    NotConnected,
    NotFound,
    Unreachable,
    Withheld,
)
from rota.kube.api.objects import Status
from rota.kube.scheduling.binding import ATTEMPTS, FORGOTTEN_AFTER_S, Binder, Placing
from rota.kube.scheduling.event_recorder import Teller
from rota.model.ids import JobId, NodeName, TaskName
from tests.unit.kube.pods import Told, node, pod

pytestmark = pytest.mark.virtual_time

CALL = Call("create", "pods/binding")
P, Q = TaskName("default/p"), TaskName("default/q")
N = NodeName("n")

pytestmark = pytest.mark.covers("kube-4", "kube-5")


class Server:
    """Answers binds with what is planned for them, and then well."""

    def __init__(self, told: Told, *plan: KubeError) -> None:
        self._told = told
        self._plan = list(plan)
        self.binds: list[tuple[str, str]] = []
        self.deleted: list[str] = []
        self.evicted: list[str] = []
        self.looks = 0
        self.pod: Pod | None = None
        """As it is when somebody looks; None: as it was."""
        self.statuses: list[dict[str, Any]] = []

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        assert uid == f"uid-{pod}"
        self.binds.append((pod, node))
        if self._plan:
            raise self._plan.pop(0)

    async def get(self, resource: Any, name: str, namespace: str = "") -> Any:
        self.looks += 1
        return self.pod or self._told.mirror.pod(TaskName(f"{namespace}/{name}"))

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "") -> Any:
        raise AssertionError("nothing is to be patched")

    async def patch_status(self, resource: Any, name: str, change: Any, namespace: str = "") -> None:
        self.statuses.append(change["status"])

    async def delete(self, resource: Any, name: str, namespace: str = "", *, uid: str | None = None) -> None:
        assert uid == f"uid-{name}"
        self.deleted.append(name)

    async def evict(self, namespace: str, pod: str, *, uid: str | None = None) -> None:
        self.evicted.append(pod)

    async def create(self, resource: Any, body: Any, namespace: str = "") -> Any:
        raise AssertionError("nobody sends events here")


class Bench:
    def __init__(self, *plan: KubeError) -> None:
        self.told = Told()
        self.mirror = self.told.mirror
        self.mirror.node_changed(None, node("n"))
        self.told.add(pod("p"))
        self.server = Server(self.told, *plan)
        self.teller = Teller(self.server, self.mirror.pod, "us", "me")
        self.leads = True
        self.binder = Binder(self.server, self.mirror, self.teller, lambda: self.leads, lambda: None)

    async def carry_out(self, *names: TaskName, victims: tuple[TaskName, ...] = ()) -> None:
        nodes = dict.fromkeys(names or (P,), N)
        self.mirror.assume(nodes)
        await self.binder.carry_out(Placing(JobId("j"), nodes, victims))

    def is_assumed(self) -> bool:
        self.mirror.settle(0.0)
        return not self.mirror.state.is_waiting(JobId(P))


async def test_what_is_bound_stays_assumed_until_it_is_seen() -> None:
    bench = Bench()

    await bench.carry_out()
    assert bench.server.binds == [("p", "n")]
    assert bench.is_assumed()
    assert bench.binder.bound == 1


async def test_a_lost_answer_is_followed_by_a_look() -> None:
    bench = Bench(Unreachable(CALL, "cut off"))
    bench.server.pod = pod("p", node="n")

    await bench.carry_out()
    assert (len(bench.server.binds), bench.server.looks) == (1, 1)
    assert bench.binder.bound == 1


async def test_what_was_not_done_is_tried_again() -> None:
    bench = Bench(Unreachable(CALL, "cut off"), NotConnected(CALL, "refused"))

    await bench.carry_out()
    assert (len(bench.server.binds), bench.server.looks) == (3, 1)
    assert bench.binder.bound == 1


@pytest.mark.parametrize("found", [pod("p", node="elsewhere"), pod("p", is_ending=True)])
async def test_a_conflict_is_looked_at(found: Pod) -> None:
    """Another has bound it, or it is being deleted: nothing more is done."""
    bench = Bench(Conflict(CALL, Status(409)))
    bench.server.pod = found

    await bench.carry_out()
    assert len(bench.server.binds) == 1
    assert not bench.is_assumed()
    assert bench.binder.bound == 0


async def test_a_pod_that_is_gone_is_forgotten_at_once() -> None:
    bench = Bench(NotFound(CALL, Status(404)))

    await asyncio.wait_for(bench.carry_out(), FORGOTTEN_AFTER_S / 2)
    assert not bench.is_assumed()


@pytest.mark.parametrize(
    "errors", [[Forbidden(CALL, Status(403))], [NotConnected(CALL, "refused")] * ATTEMPTS]
)
async def test_what_cant_be_bound_is_forgotten_after_a_pause(errors: list[KubeError]) -> None:
    bench = Bench(*errors)

    carrying_out = asyncio.create_task(bench.carry_out())
    while bench.binder.failed == 0:
        await asyncio.sleep(0.1)
    assert bench.is_assumed(), "its room isn't given away meanwhile"
    await carrying_out
    assert len(bench.server.binds) == len(errors)
    assert not bench.is_assumed()


async def test_nothing_is_bound_to_a_node_that_is_gone() -> None:
    bench = Bench()
    bench.mirror.node_changed(node("n"), None)

    await bench.carry_out()
    assert not bench.server.binds
    assert not bench.is_assumed()


async def test_nothing_is_bound_by_who_doesnt_lead() -> None:
    bench = Bench()
    bench.leads = False

    await bench.carry_out()
    assert not bench.server.binds
    assert not bench.is_assumed()


async def test_what_wasnt_sent_since_another_may_lead_is_left_to_that_one() -> None:
    """Users aren't told of it: it will be bound."""
    bench = Bench(Withheld(CALL))

    await asyncio.wait_for(bench.carry_out(), FORGOTTEN_AFTER_S / 2)
    assert len(bench.server.binds) == 1
    assert not bench.is_assumed()
    assert bench.teller._events.empty()


class TestRoom:
    async def test_is_waited_for(self) -> None:
        bench, victim = Bench(), pod("q", node="n")
        bench.told.add(victim)

        carrying_out = asyncio.create_task(bench.carry_out(victims=(Q,)))
        await asyncio.sleep(1)
        assert bench.server.deleted == ["q"]
        assert {"nominatedNodeName": "n"} in bench.server.statuses
        assert not bench.server.binds
        bench.mirror.pod_changed(victim, None)
        await carrying_out
        assert bench.server.binds == [("p", "n")]

    async def test_is_given_to_another_while_it_waits(self) -> None:
        bench, victim = Bench(), pod("q", node="n")
        bench.told.add(victim)

        carrying_out = asyncio.create_task(bench.carry_out(victims=(Q,)))
        await asyncio.sleep(1)
        assert bench.binder.withdraw(JobId("j"))
        with pytest.raises(asyncio.CancelledError):
            await carrying_out
        assert not bench.binder.withdraw(JobId("j"))
        assert not bench.server.binds
        assert not bench.is_assumed()

    async def test_isnt_waited_for_by_a_pod_that_is_gone(self) -> None:
        bench, victim = Bench(), pod("q", node="n")
        bench.told.add(victim)

        carrying_out = asyncio.create_task(bench.carry_out(victims=(Q,)))
        await asyncio.sleep(1)
        bench.mirror.pod_changed(pod("p"), None)
        await carrying_out
        assert not bench.server.binds


async def test_a_gang_that_is_undone_is_evicted() -> None:
    bench = Bench()
    bench.told.add(pod("q", node="n"))

    await bench.binder.undo(JobId("g"), (P, Q, TaskName("default/gone")))
    assert bench.server.evicted == ["p", "q"]
