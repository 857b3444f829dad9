"""Plans carried out on an API server that refuses, forgets to answer, or has changed since."""

from __future__ import annotations

import asyncio

import pytest

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
from rota.kube.scheduling.binding import ATTEMPTS, FORGOTTEN_AFTER_S
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import JobId, TaskName
from tests.unit.kube.pods import node, pod
from tests.unit.kube.scheduling.bench import Bench, P, Q

CALL = Call("create", "pods/binding")

pytestmark = [pytest.mark.covers("kube-4", "kube-5"), pytest.mark.virtual_time]


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
    assert bench.recorder._events.empty()


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

    async def test_is_told_to_the_pod_that_it_is_made_for(self) -> None:
        """Why it couldn't start at once, in the same breath as where it will."""
        bench, victim = Bench(), pod("q", node="n")
        bench.told.add(victim)

        carrying_out = asyncio.create_task(bench.carry_out(victims=(Q,), why="0/1 nodes are available"))
        await asyncio.sleep(1)
        [status] = [one for one in bench.server.statuses if "nominatedNodeName" in one]
        [condition] = status["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
        assert condition["message"] == "0/1 nodes are available"
        events = [bench.recorder._events.get_nowait()[1] for _ in range(2)]
        assert {one["reason"]: one["note"] for one in events} == {
            "FailedScheduling": "0/1 nodes are available",
            "Preempted": "Preempted by j on node n",
        }
        bench.mirror.pod_changed(victim, None)
        await carrying_out

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
