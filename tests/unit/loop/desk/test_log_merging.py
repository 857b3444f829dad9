"""Streams of output as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from unittest import mock

import pytest

from rota.backends.backend import LogChunk, Stream
from rota.loop.desk.log_merging import merged

pytestmark = pytest.mark.covers("job-4")


def chunk(text: str) -> LogChunk:
    """`a5`: by a, at 5."""
    return LogChunk(0, Stream.OUT, int(text[1:]), text.encode())


def texts(chunks: Sequence[LogChunk]) -> list[str]:
    return [one.data.decode() for one in chunks]


class Writer:
    """A stream that brings what it is given, when it is."""

    def __init__(self) -> None:
        self._given: asyncio.Queue[list[LogChunk] | None] = asyncio.Queue()
        self.is_closed = False

    def give(self, *words: str) -> None:
        self._given.put_nowait([chunk(word) for word in words])

    def end(self) -> None:
        self._given.put_nowait(None)

    async def stream(self) -> AsyncIterator[Sequence[LogChunk]]:
        try:
            while (chunks := await self._given.get()) is not None:
                yield chunks
        finally:
            self.is_closed = True


async def written(*batches: str) -> AsyncIterator[Sequence[LogChunk]]:
    for batch in batches:
        yield [chunk(word) for word in batch.split()]


def read(*streams: AsyncIterator[Sequence[LogChunk]]) -> str:
    async def all_of_it() -> str:
        return " ".join([text async for batch in merged(streams) for text in texts(batch)])

    return asyncio.run(all_of_it())


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        ((), ""),
        (("a1 a2",), "a1 a2"),
        (("a1 a4", "b2 b3"), "a1 b2 b3 a4"),
        (("b2 b3", "a1 a4"), "a1 b2 b3 a4"),
        (("a1|a2|a9", "b1|b2 b3"), "a1 b1 a2 b2 b3 a9"),
        (("a1 a5||a6", "", "c2 c7"), "a1 c2 a5 a6 c7"),
        (("a5 a1", "b3"), "b3 a5 a1"),
    ],
)
def test_in_the_order_of_time(streams: tuple[str, ...], told: str) -> None:
    """At the same time the first stream goes first; what one stream brings stays in its order."""
    assert read(*(written(*batches.split("|")) for batches in streams)) == told


async def test_one_that_is_slow_is_waited_for() -> None:
    slow, fast = Writer(), Writer()
    fast.give("f2")
    fast.end()
    batches = merged([slow.stream(), fast.stream()])
    first = asyncio.ensure_future(anext(batches))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not first.done()
    slow.give("s1")
    assert texts(await first) == ["s1"]
    slow.end()
    assert texts(await anext(batches)) == ["f2"]
    assert await anext(batches, None) is None


async def test_followed_streams_begin_in_the_order_of_time_and_go_on_as_things_arrive() -> None:
    one, other = Writer(), Writer()
    one.give("a1", "a3")
    other.give("b2", "b4")
    batches = merged([one.stream(), other.stream()], settling_s=0.01)
    assert texts(await anext(batches)) == ["a1", "b2", "a3"]
    assert texts(await anext(batches)) == ["b4"], "though the other might write something earlier"
    other.give("b9")
    assert texts(await anext(batches)) == ["b9"]
    one.give("a7")
    assert texts(await anext(batches)) == ["a7"]
    one.end()
    other.give("b10")
    assert texts(await anext(batches)) == ["b10"], "the end of one is not that of all"
    other.end()
    assert await anext(batches, None) is None


async def test_one_that_is_silent_holds_nobody_up() -> None:
    """The second of two is waited for once, and not with each batch of the first."""

    one, silent = Writer(), Writer()
    batches = merged([one.stream(), silent.stream()], settling_s=0.01)
    one.give("a1")
    assert texts(await anext(batches)) == ["a1"]
    loop = asyncio.get_running_loop()
    with mock.patch.object(loop, "call_later", wraps=loop.call_later) as timer:
        for at in range(2, 50):
            one.give(f"a{at}")
            assert texts(await anext(batches)) == [f"a{at}"]
    timer.assert_not_called()
    await batches.aclose()


async def test_whoever_stops_reading_ends_all_reading() -> None:
    one, other = Writer(), Writer()
    one.give("a1")
    batches = merged([one.stream(), other.stream()], settling_s=0.01)
    await anext(batches)
    await batches.aclose()
    assert one.is_closed
    assert other.is_closed


async def test_a_stream_that_fails_fails_the_whole() -> None:
    async def broken() -> AsyncIterator[Sequence[LogChunk]]:
        yield [chunk("b1")]
        raise OSError("the disk is gone")

    other = Writer()
    batches = merged([broken(), other.stream()], settling_s=0.01)
    assert texts(await anext(batches)) == ["b1"]
    with pytest.raises(OSError, match="the disk is gone"):
        await anext(batches)
    assert other.is_closed
