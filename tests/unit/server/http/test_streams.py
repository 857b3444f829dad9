from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rota.server.http.streams import ABORT, StreamLimits, StreamReply, begun


class Line:
    """The other end of a connection."""

    def __init__(self, *, takes: int = 1000) -> None:
        self.chunks: list[bytes] = []
        self.is_complete = False
        self.was_aborted = False
        self.hung_up = asyncio.Event()
        self._takes = takes

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            if len(self.chunks) == self._takes:
                await asyncio.Event().wait()
            self.chunks.append(message["body"])
            self.is_complete = not message["more_body"]

    async def receive(self) -> Any:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def get(self, reply: StreamReply) -> None:
        async with asyncio.timeout(5):
            await reply({"path": "/x", "state": {ABORT: self._abort}}, self.receive, self.send)  # type: ignore[arg-type]

    def _abort(self) -> None:
        self.was_aborted = True


class Source:
    """Gives so many chunks and then waits for ever; knows whether it was closed."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self._count, self._error = count, error
        self.given = 0
        self.is_closed = False

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            while self.given < self._count:
                self.given += 1
                yield b"x"
            if self._error is not None:
                raise self._error
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


def limits(**more: float) -> StreamLimits:
    return StreamLimits(asyncio.Event(), **more)


async def test_a_client_that_hangs_up_ends_the_reading() -> None:
    line, source = Line(), Source(2)
    reading = asyncio.create_task(line.get(StreamReply(source.chunks(), "x/y", limits())))
    while len(line.chunks) < 2:
        await asyncio.sleep(0)
    line.hung_up.set()
    await reading
    assert source.is_closed


async def test_a_slow_client_holds_up_the_source_and_is_dropped() -> None:
    line, source = Line(takes=3), Source(1000)
    await line.get(StreamReply(source.chunks(), "x/y", limits(slow_seconds=0.02)))
    assert line.was_aborted
    assert source.is_closed
    assert source.given == 4


async def test_a_silent_source_is_alive_as_long_as_the_token_is() -> None:
    line, source = Line(), Source(0)
    asked = 0

    async def still_allowed() -> bool:
        nonlocal asked
        asked += 1
        return asked < 3

    beating = limits(heartbeat_seconds=0.001)
    reply = StreamReply(source.chunks(), "x/y", beating, heartbeat=b":\n", still_allowed=still_allowed)
    await line.get(reply)
    assert set(line.chunks) == {b":\n", b""}
    assert asked == 3
    assert line.is_complete
    assert source.is_closed


@pytest.mark.covers("trust-3")
async def test_a_busy_stream_sends_nothing_more_once_it_is_not_allowed() -> None:
    line, source = Line(takes=10**9), Source(10**9)

    async def still_allowed() -> bool:
        return len(line.chunks) < 3

    await line.get(
        StreamReply(source.chunks(), "x/y", limits(), heartbeat=b":\n", still_allowed=still_allowed)
    )
    assert line.chunks == [b"x", b"x", b"x", b""]
    assert line.is_complete
    assert source.is_closed


@pytest.mark.covers("trust-3")
async def test_a_file_that_is_not_allowed_to_its_end_does_not_look_complete() -> None:
    line, source = Line(), Source(10)

    async def still_allowed() -> bool:
        return len(line.chunks) < 3

    await line.get(StreamReply(source.chunks(), "x/y", limits(), still_allowed=still_allowed))
    assert line.chunks == [b"x", b"x", b"x"]
    assert line.was_aborted
    assert not line.is_complete
    assert source.is_closed


async def test_a_source_that_breaks_leaves_the_answer_incomplete() -> None:
    line, source = Line(), Source(1, OSError("disk"))
    await line.get(StreamReply(source.chunks(), "x/y", limits()))
    assert line.was_aborted
    assert not line.is_complete


async def test_what_is_wrong_from_the_start_is_raised_before_anything_is_sent() -> None:
    with pytest.raises(FileNotFoundError):
        await begun(Source(0, FileNotFoundError()).chunks())
    source = Source(2)
    chunks = await begun(source.chunks())
    assert source.given == 1
    assert [await anext(chunks), await anext(chunks)] == [b"x", b"x"]
    await chunks.aclose()  # type: ignore[attr-defined]
    assert source.is_closed
