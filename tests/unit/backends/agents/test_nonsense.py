"""Whatever bytes an agent sends: what is a message is believed or refused, and nothing else happens."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.agents.arrivals import FolderArrivals, OutputFiles
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.claims import Refusal
from rota.backends.agents.messages import report_from
from rota.backends.backend import TaskRef
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.model.ids import JobId
from rota.wire import agents_pb2 as wire
from tests.unit.backends.agents.nonsense import hellos, nodes, numbers

pytestmark = pytest.mark.covers("ops-3")


@given(hellos, nodes, numbers, numbers)
def test_hellos_and_heartbeats(
    tmp_path_factory: pytest.TempPathFactory,
    hello: wire.Hello,
    node: wire.Node,
    clock_ms: int,
    round_trip_ms: int,
) -> None:
    async def check() -> None:
        backend = AgentsBackend(FolderArrivals(tmp_path_factory.getbasetemp() / "nonsense"))
        with suppress(Refusal):
            session = backend.greet(hello)
            beat = wire.Heartbeat(number=1, node=node, clock_ms=clock_ms, round_trip_ms=round_trip_ms)
            backend.heartbeat(session, beat)
        for known in await backend.nodes():
            assert min(known.spec.capacity.cpu_milli, known.spec.capacity.memory_bytes) > 0
            assert known.name == "a" or known.name.isascii()
        assert await backend.running() == []
        await backend.health()

    asyncio.run(check())


@given(st.binary(max_size=300), st.sampled_from([wire.AgentNews, wire.TaskNews]))
def test_bytes_that_may_be_no_message(data: bytes, kind: type[Message]) -> None:
    with suppress(DecodeError):
        message = kind.FromString(data)
        if isinstance(message, wire.TaskNews):
            with suppress(ValueError):
                report_from(TaskRef(JobId("1"), 0, 1), message, 0)


@given(
    st.lists(st.tuples(numbers, st.lists(st.binary(max_size=50), max_size=3), numbers), max_size=5), numbers
)
def test_output_from_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
    said: list[tuple[int, list[bytes], int]],
    server_ahead_ms: int,
) -> None:
    folders = Folders(Path(tmp_path_factory.mktemp("output")))
    folders.make()
    arriving = OutputFiles(folders, TaskRef(JobId("1"), 0, 1), Rotation(1000, 3))
    for offset_bytes, pieces, at_ms in said:
        output = wire.Output(offset_bytes=offset_bytes)
        for piece in pieces:
            output.pieces.add(at_ms=at_ms, data=piece)
        before_bytes = arriving.offset_bytes
        with suppress(Refusal):
            arriving.take(output, server_ahead_ms)
        assert arriving.offset_bytes >= before_bytes
    arriving.close()
