"""What several backends have of a job's output, as one stream in the order of time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from math import inf

from rota.backends.backend import LogChunk

Batches = AsyncIterator[Sequence[LogChunk]]

SETTLING_S = 0.05
"""Output that exists already arrives within this time."""


async def merged(
    streams: Sequence[Batches], settling_s: float | None = None
) -> AsyncGenerator[Sequence[LogChunk], None]:
    """In the order of time, each stream being waited for: what comes next could be its. With `settling_s`,
    for streams that go on with what is yet to be written, one that has brought nothing for so long isn't
    waited for until it does."""
    sources = [_Source(stream) for stream in streams]
    try:
        while open_ones := [one for one in sources if one.begins_to_read()]:
            await _wait(open_ones, settling_s)
            if ready := [one for one in open_ones if one.chunks]:
                yield _in_order(ready)
    finally:
        for one in sources:
            await one.close()


class _Source:
    def __init__(self, stream: Batches) -> None:
        self.chunks: deque[LogChunk] = deque()
        self.reading: asyncio.Task[Sequence[LogChunk] | None] | None = None
        self.is_silent = False
        self._stream = stream
        self._is_over = False

    def begins_to_read(self) -> bool:
        """Whatever comes next, unless something is there; False: that was all."""
        if not (self.chunks or self.reading or self._is_over):
            self.reading = asyncio.ensure_future(self._next())
        return bool(self.chunks or self.reading)

    async def _next(self) -> Sequence[LogChunk] | None:
        while (chunks := await anext(self._stream, None)) is not None:
            if chunks:
                return chunks
        return None

    def take(self) -> None:
        """What was read, if it was."""
        if self.reading is None or not self.reading.done():
            return
        chunks = self.reading.result()
        self.reading = None
        self.is_silent = False
        self._is_over = chunks is None
        self.chunks.extend(chunks or ())

    async def close(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
            await asyncio.wait([self.reading])
        await self._stream.aclose()  # type: ignore[attr-defined]


async def _wait(sources: Sequence[_Source], settling_s: float | None) -> None:
    """Until those that aren't silent have something, or have become so; and one at least has."""
    if not any(one.chunks for one in sources):
        await _read(sources, asyncio.FIRST_COMPLETED)
    lively = [one for one in sources if not one.is_silent]
    await _read(lively, asyncio.ALL_COMPLETED, settling_s)
    for one in lively:
        one.is_silent = one.reading is not None


async def _read(sources: Sequence[_Source], until: str, at_most_s: float | None = None) -> None:
    if readings := [one.reading for one in sources if one.reading is not None]:
        await asyncio.wait(readings, return_when=until, timeout=at_most_s)
    for one in sources:
        one.take()


def _in_order(sources: Sequence[_Source]) -> list[LogChunk]:
    """As far as each of them has something; at the same time, the first of them goes first."""
    batch: list[LogChunk] = []
    while all(one.chunks for one in sources):
        earliest = min(sources, key=lambda one: one.chunks[0].at_ms)
        others_ms = min((one.chunks[0].at_ms for one in sources if one is not earliest), default=inf)
        while earliest.chunks and earliest.chunks[0].at_ms <= others_ms:
            batch.append(earliest.chunks.popleft())
    return batch
