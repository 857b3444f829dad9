"""`rota agent ls` of a scheduler that keeps nothing: pool, capacity, load, and what runs."""

from __future__ import annotations

import pytest

from rota.api.cluster import AgentState
from rota.api.people import Role
from rota.control.access import Who
from rota.stateless_scheduler.agent_list import SchedulerAgents
from rota.wire import agents_pb2
from tests.unit.stateless_scheduler.bench import Bench, action, eventually, started

pytestmark = [pytest.mark.virtual_time, pytest.mark.covers("agent-2")]

OPERATOR, CI, NIGHTLY = Who("alice", Role.OPERATOR), Who("ci", Role.VIEWER), Who("nightly", Role.VIEWER)


def listing(bench: Bench) -> SchedulerAgents:
    scheduler = bench.scheduler
    return SchedulerAgents(scheduler.backend, scheduler.transactor, scheduler.book)


async def test_what_each_has_and_runs() -> None:
    async with started() as bench:
        session, line = bench.agent("one", cpus=4), bench.line()
        said = agents_pb2.Node(
            capacity=agents_pb2.Resources(cpu_milli=4000, memory_bytes=1 << 30, slots=10),
            pool="fast",
            load_milli=250,
            memory_used_bytes=1 << 29,
        )
        bench.backend.heartbeat(session, agents_pb2.Heartbeat(number=1, node=said))
        await line.submit(action("build"))
        await line.placement("build")
        await eventually(lambda: any(node.load_milli for node in bench.scheduler.transactor.memory.nodes()))
        [one] = await listing(bench).listed(OPERATOR, bench.now_ms)
        assert (one.name, one.state, one.pool, one.load) == ("one", AgentState.CONNECTED, "fast", 0.25)
        assert (one.capacity["cpu"], one.used["cpu"], one.memory_used) == (4, 1, 1 << 29)
        assert (one.tasks, one.runs) == (1, ["ci/build"])


async def test_a_controller_sees_its_own_actions() -> None:
    async with started() as bench:
        bench.agent("one")
        line = bench.line()
        await line.submit(action("build"))
        await line.placement("build")
        [mine], [theirs] = [await listing(bench).listed(who, bench.now_ms) for who in (CI, NIGHTLY)]
        assert (mine.tasks, mine.runs) == (1, ["ci/build"])
        assert (theirs.tasks, theirs.runs) == (1, [])


async def test_there_are_none() -> None:
    async with started() as bench:
        assert await listing(bench).listed(OPERATOR, bench.now_ms) == []
