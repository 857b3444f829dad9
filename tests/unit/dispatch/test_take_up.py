"""After a restart each task is asked for where it may be, and lost only if nobody has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rota.backends.backend import TaskRef
from rota.backends.registry import Registry
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.state import TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from tests.obedient import ObedientBackend, node
from tests.unit.dispatch.jobs import Jobs, keep, sent

pytestmark = pytest.mark.covers("agent-5", "job-3")


class Named(ObedientBackend):
    """Waits for nodes that nobody knows, if `waits` says so."""

    def __init__(self, name: str, *nodes: Node, waits: bool = False) -> None:
        super().__init__(*nodes)
        self.name = name
        self.here = list(nodes)
        self._waits = waits
        self.asked: list[TaskRef] = []

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        self.asked = [ref for ref, _ in tasks]
        taken = await super().take_up(tasks)
        return [ref for ref, _ in tasks] if self._waits else taken


def of(backend: str, name: str) -> Node:
    here = node(name)
    return replace(here, spec=replace(here.spec, backend=backend))


async def test_those_with_nodes_are_asked_about_these_and_others_about_the_rest() -> None:
    local = Named("local", of("local", "here"))
    agents = Named("agents", waits=True)
    jobs = Jobs(*local.here)
    mine = jobs.has("1", "here", TaskPhase.RUNNING)
    away = jobs.has("2", "away", TaskPhase.RUNNING)
    gone = jobs.has("3", "here", TaskPhase.RUNNING)
    renamed = jobs.has("4", "old-name", TaskPhase.RUNNING)
    unwanted = TaskRef(JobId("9"), 0, 1)
    for ref in (mine, renamed, unwanted):
        local.started[ref] = None  # type: ignore[assignment]
    local._stops_at_once = False
    dispatcher = Dispatcher(Registry([agents, local]), jobs, keep)
    assert await dispatcher.reconcile() == [gone]
    assert set(local.asked) == {mine, gone, away, renamed}
    assert agents.asked == [away]
    assert local.stopped == [unwanted]


async def test_what_was_to_start_and_stop_is_said_again_where_its_node_may_be() -> None:
    agents = Named("agents", waits=True)
    jobs = Jobs()
    bound = jobs.has("1", "away", TaskPhase.BOUND)
    stopping = jobs.has("2", "away", TaskPhase.STOPPING)
    dispatcher = Dispatcher(Registry([agents]), jobs, keep)
    assert await dispatcher.reconcile() == []
    await sent(dispatcher)
    assert [start.ref for start in agents.seen] == [bound]
    assert agents.stopped == [stopping]


async def test_an_end_is_settled_where_it_ran_though_its_node_is_gone() -> None:
    agents = Named("agents", of("agents", "away"))
    jobs = Jobs(*agents.here)
    bound = jobs.has("1", "away", TaskPhase.BOUND)
    dispatcher = Dispatcher(Registry([agents]), jobs, keep)
    await dispatcher.reconcile()
    await sent(dispatcher)
    agents.end(bound)
    jobs._nodes.clear()
    dispatcher.settle([bound], NodeName("away"))
    await sent(dispatcher)
    assert agents.unsettled == {}


async def test_what_nobody_could_start_any_more_is_lost() -> None:
    jobs = Jobs()
    bound = jobs.has("1", "nowhere", TaskPhase.BOUND)
    assert await Dispatcher(Registry([Named("local")]), jobs, keep).reconcile() == [bound]
