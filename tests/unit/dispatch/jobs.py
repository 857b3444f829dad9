"""Jobs that a dispatcher has to carry out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rota.backends.backend import TaskRef, TaskReport
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from tests.kit.live import spec


class Jobs:
    def __init__(self, *nodes: Node) -> None:
        self.jobs: dict[JobId, JobState] = {}
        self.vacating: dict[NodeName, set[TaskRef]] = {}
        self._nodes = {node.name: node for node in nodes}

    def node(self, name: NodeName) -> Node | None:
        return self._nodes.get(name)

    def has(self, job: str, on: str, phase: TaskPhase) -> TaskRef:
        live = LiveTask(0, 1, NodeName(on), phase, bound_ms=1)
        state = JobState(JobId(job), int(job), spec(), 1, phase=Phase.RUNNING, live=(live,), fence=1)
        self.jobs[state.id] = state
        return TaskRef(state.id, 0, 1)


async def keep(reports: Sequence[TaskReport]) -> Sequence[TaskReport]:
    return ()


async def sent(dispatcher: Dispatcher) -> None:
    """All that was noted."""
    running = asyncio.create_task(dispatcher.run())
    for _ in range(20):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
