"""Tasks are seen through, whatever becomes of the streams that they are told by."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from rota.agent import crew as module
from rota.agent.crew import Crew
from rota.agent.session import Session
from rota.backends.backend import TaskRef
from rota.backends.process.folders import Folders
from rota.model.ids import JobId, NodeName
from rota.wire import agents_pb2 as wire


class Keeper:
    """Has nothing."""

    async def running(self) -> Sequence[TaskRef]:
        return []


class Call:
    def __init__(self, failure: Exception | None) -> None:
        self._failure = failure

    async def write(self, news: wire.TaskNews) -> None:
        if self._failure is not None:
            raise self._failure

    async def read(self) -> wire.TaskOrders:
        return wire.TaskOrders(revoke=wire.Revoke())

    def cancel(self) -> None:
        pass


class Stub:
    """The first streams break, the next one is answered."""

    def __init__(self, *failures: Exception) -> None:
        self._failures: list[Exception | None] = [*failures, None]
        self.opened = 0

    def Perform(self) -> Call:  # noqa: N802 – the name in the .proto
        self.opened += 1
        return Call(self._failures.pop(0))


@pytest.mark.covers("agent-3")
@pytest.mark.parametrize("failure", [grpc.RpcError(), asyncio.InvalidStateError("over already")])
def test_a_stream_that_breaks_is_opened_again(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        stub: Any = Stub(failure, failure)
        nothing: Any = None
        keeper: Any = Keeper()
        crew = Crew(keeper, Folders(tmp_path), NodeName("a"), lambda _: stub, nothing)
        session = Session("here", "secret", "http://here", 1)
        crew._perform(session, TaskRef(JobId("1"), 0, 1), "", is_kept=False)
        while not crew.is_idle:
            crew.changed.clear()
            await crew.changed.wait()
        assert stub.opened == 3

    monkeypatch.setattr(module, "_AGAIN_S", 0.0)
    asyncio.run(asyncio.wait_for(check(), 10))
