"""What tasks write and leave goes to their controllers, whole and in order, or waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from rota.backends.agents.arrivals import NobodyListens
from rota.backends.agents.claims import Refusal
from rota.backends.backend import TaskRef
from rota.model.job import JobTemplate
from rota.model.run import JobSpec, Run
from rota.stateless_scheduler import arrivals
from rota.stateless_scheduler.actions import Action, Book
from rota.stateless_scheduler.arrivals import ControllerArrivals
from rota.stateless_scheduler.outbox import Outbox
from rota.wire import agents_pb2
from rota.wire import controllers_pb2 as wire


class Bench:
    """One action, and what its controller reads."""

    def __init__(self) -> None:
        self.book = Book(["ci"], 0, 1000)
        self.action = Action("ci", "a", JobSpec(JobTemplate(()), Run()))
        self.book.add(self.action)
        self.ref = TaskRef(self.action.job, 0, 7)
        self.arrivals = ControllerArrivals(self.book)
        self.read: list[wire.SchedulerNews] = []
        self.outbox = self.listen()

    def listen(self) -> Outbox:
        self.outbox = self.action.outbox = Outbox()
        self._reading = asyncio.create_task(self._read(self.outbox))
        return self.outbox

    async def _read(self, outbox: Outbox) -> None:
        async for news in outbox:
            self.read.append(news)


def output(offset_bytes: int, data: bytes, at_ms: int = 100) -> agents_pb2.Output:
    piece = agents_pb2.Output.Piece(at_ms=at_ms, data=data, is_err=True)
    return agents_pb2.Output(offset_bytes=offset_bytes, pieces=[piece])


async def chunks(*data: bytes) -> AsyncIterator[bytes]:
    for each in data:
        yield each


@pytest.mark.covers("agent-3")
async def test_output_goes_on_where_the_controller_is() -> None:
    bench = Bench()
    bench.action.set_output_bytes(7, 2)
    arriving = await bench.arrivals.arriving(bench.ref)
    assert arriving.offset_bytes == 2
    await arriving.take(output(2, b"c\xff"), 50)
    assert arriving.offset_bytes == 4
    [news] = bench.read
    [piece] = news.output.output.pieces
    assert (news.output.ref.fence, news.output.output.offset_bytes) == (7, 2)
    assert (piece.data, piece.at_ms, piece.is_err) == (b"c\xff", 150, True)
    other_start = await bench.arrivals.arriving(TaskRef(bench.action.job, 0, 8))
    assert other_start.offset_bytes == 0


async def test_one_who_left_gets_the_rest_by_another_stream() -> None:
    bench = Bench()
    arriving = await bench.arrivals.arriving(bench.ref)
    await arriving.take(output(0, b"ab"), 0)
    bench.outbox.close()
    bench.listen()
    bench.action.set_output_bytes(7, 1)
    with pytest.raises(NobodyListens):
        await arriving.take(output(2, b"c"), 0)
    assert (await bench.arrivals.arriving(bench.ref)).offset_bytes == 1


async def test_while_nobody_listens_it_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_UNHEARD_S", 0)

    bench = Bench()
    bench.action.set_output_bytes(7, 2)
    bench.action.outbox = None
    arriving = await bench.arrivals.arriving(bench.ref)
    await arriving.take(output(2, b"abc"), 0)
    assert arriving.offset_bytes == 5
    assert bench.action.output_bytes(7) == 2, "that is what its controller has"
    await bench.arrivals.keep_file(bench.ref, "out", chunks(b"x"))
    assert bench.read == []


@pytest.mark.covers("agent-4")
async def test_files_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_PART_BYTES", 4)

    bench = Bench()
    await bench.arrivals.keep_file(bench.ref, "./out//a", chunks(b"123", b"45", b"6789"))
    await bench.arrivals.keep_file(bench.ref, "empty", chunks())
    parts = [(one.path, one.offset_bytes, one.data, one.is_last) for one in _files(bench)]
    assert parts == [
        ("out/a", 0, b"123", False),
        ("out/a", 3, b"45", False),
        ("out/a", 5, b"6789", True),
        ("empty", 0, b"", True),
    ]
    with pytest.raises(Refusal, match="path"):
        await bench.arrivals.keep_file(bench.ref, "../a", chunks(b"1"))


def _files(bench: Bench) -> list[wire.OutputFile]:
    return [news.file for news in bench.read if news.HasField("file")]
