"""Results that agents bring: told when all output has come, and not before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rota.backends.agents.agent import Agent, Session
from rota.backends.agents.arrivals import FolderArrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.task import AgentTask
from rota.backends.backend import TaskEnded, TaskRef
from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.server import agents
from rota.server.agents import AgentCalls
from rota.wire import agents_pb2 as wire

REF = TaskRef(JobId("1"), 0, 1)
ENDED = TaskEnded(REF, 1, TaskEnd(EndReason.EXITED, 0))
OUTPUT_BYTES = 10


@pytest.mark.covers("agent-4")
async def test_a_result_is_heard_once_all_output_is_here(tmp_path: Path) -> None:
    backend, task, session = _parts(tmp_path)
    calls = AgentCalls(backend, FileStore(Folders(tmp_path)))
    answer = asyncio.create_task(calls.result(session, task, ENDED, OUTPUT_BYTES))
    await task.wrote(OUTPUT_BYTES - 1)
    await asyncio.sleep(0.01)
    assert task.over is None
    await task.wrote(OUTPUT_BYTES)
    task.settled.set()
    assert await answer
    assert task.over == ENDED


async def test_one_whose_output_doesnt_come_is_left_to_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "KEPT_WITHIN_S", 0.01)

    backend, task, session = _parts(tmp_path)
    calls = AgentCalls(backend, FileStore(Folders(tmp_path)))
    assert not await calls.result(session, task, ENDED, OUTPUT_BYTES)
    await task.wrote(OUTPUT_BYTES)
    assert task.over is None


def _parts(folder: Path) -> tuple[AgentsBackend, AgentTask, Session]:
    node = NodeName("a")
    session = Session(Agent(node, 0), wire.Hello(), Node(node, NodeSpec(Resources())), set())
    return AgentsBackend(FolderArrivals(folder)), AgentTask(REF, node), session
