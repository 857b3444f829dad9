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
from rota.backends.process.keeper.log_writer import Rotation
from rota.model.ids import JobId
from rota.wire import agents_pb2 as wire

pytestmark = pytest.mark.covers("ops-3")

numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
words = st.text(st.characters(codec="utf-8"), max_size=300)
refs = st.builds(wire.TaskRef, job=words | st.just("1"), rank=numbers, fence=numbers)
nodes = st.builds(
    wire.Node,
    capacity=st.builds(
        wire.Resources,
        cpu_milli=numbers,
        memory_bytes=numbers,
        storage_bytes=numbers,
        slots=numbers,
        extended=st.dictionaries(words, numbers, max_size=3),
    ),
    gpus=numbers,
    gpu_model=words,
    pool=words,
    labels=st.dictionaries(words, words, max_size=3),
    taints=st.lists(st.builds(wire.Taint, key=words, value=words, effect=words), max_size=2),
    price_micro_per_hour=numbers,
    load_milli=numbers,
    message=words,
)
hellos = st.builds(
    wire.Hello,
    protocol=st.just(1) | st.integers(-(2**31), 2**31 - 1),
    version=words,
    name=st.just("a") | words,
    instance=words,
    node=nodes,
    tasks=st.lists(refs, max_size=3),
    clock_ms=numbers,
    draining=st.booleans(),
)


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
