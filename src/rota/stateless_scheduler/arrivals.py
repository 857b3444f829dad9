"""What tasks write and leave goes to their controllers, byte for byte, as fast as these take it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import suppress

from rota.backends.agents.arrivals import (
    Arriving,
    NobodyListens,
    believed_ms,
    checked_offset_bytes,
    checked_parts,
    not_too_large,
)
from rota.backends.backend import KeptFile, LogChunk, LogQuery, TaskRef
from rota.model.ids import JobId
from rota.stateless_scheduler.actions import Action, Book
from rota.stateless_scheduler.outbox import Outbox
from rota.wire import agents_pb2
from rota.wire import controllers_pb2 as wire

_PART_BYTES = 1 << 20
_UNHEARD_S = 0.05
"""Between pieces that nobody waits for, so that they hold nobody else up."""


class ControllerArrivals:
    """Implements Arrivals."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def open(self) -> None:
        pass

    async def arriving(self, ref: TaskRef, log_bytes: int | None = None) -> Arriving:
        action = self._book.jobs.get(ref.job)
        if action is None or action.outbox is None:
            return Unheard(0 if action is None else action.output_bytes(ref.fence))
        return PassedOn(action, ref.fence, action.outbox)

    async def keep_file(
        self, ref: TaskRef, path: str, chunks: AsyncIterable[bytes], *, executable: bool = False
    ) -> None:
        name = "/".join(checked_parts(path))
        action = self._book.jobs.get(ref.job)
        outbox = None if action is None else action.outbox
        async for offset_bytes, data, is_last in _parts(not_too_large(path, chunks)):
            if action is not None and outbox is not None:
                part = wire.OutputFile(
                    ref=wire.ActionRef(action=action.id, fence=ref.fence),
                    path=name,
                    offset_bytes=offset_bytes,
                    data=data,
                    is_last=is_last,
                )
                # To one who has left meanwhile all of it is brought again.
                with suppress(NobodyListens):
                    await outbox.pass_on(wire.SchedulerNews(file=part))

    def logs(self, query: LogQuery, may_write: Callable[[], bool]) -> AsyncIterator[Sequence[LogChunk]]:
        """None: they are with the controllers."""
        return _nothing()

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        raise FileNotFoundError("what tasks left is with their controllers")

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return [0] * len(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return ()

    async def forget(self, jobs: Sequence[JobId]) -> None:
        pass


async def _nothing() -> AsyncIterator[Sequence[LogChunk]]:
    for chunks in tuple[Sequence[LogChunk], ...]():
        yield chunks


async def _parts(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, bytes, bool]]:
    """Of which byte on, the bytes, and whether these are the last."""
    part, offset_bytes = bytearray(), 0
    async for chunk in chunks:
        if len(part) + len(chunk) > _PART_BYTES:
            yield offset_bytes, bytes(part), False
            offset_bytes += len(part)
            part.clear()
        part += chunk
    yield offset_bytes, bytes(part), True


class PassedOn:
    """Implements Arriving, on one connection of the controller."""

    def __init__(self, action: Action, fence: int, outbox: Outbox) -> None:
        self._action = action
        self._ref = wire.ActionRef(action=action.id, fence=fence)
        self._outbox = outbox

    @property
    def offset_bytes(self) -> int:
        return self._action.output_bytes(self._ref.fence)

    async def take(self, output: agents_pb2.Output, server_ahead_ms: int) -> None:
        end_bytes = checked_offset_bytes(output)
        for piece in output.pieces:
            piece.at_ms = believed_ms(piece.at_ms, server_ahead_ms)
            end_bytes += len(piece.data)

        def on_its_way() -> None:
            if self._action.outbox is self._outbox:
                self._action.set_output_bytes(self._ref.fence, end_bytes)

        news = wire.SchedulerNews(output=wire.Output(ref=self._ref, output=output))
        await self._outbox.pass_on(news, on_its_way)

    async def close(self) -> None:
        pass


class Unheard:
    """Implements Arriving, while the action's controller is away, or nobody wants it any more. How far the
    task is has to be known all the same: others wait for its room. The agent keeps what it wrote, and tells
    it again when the controller is back."""

    def __init__(self, offset_bytes: int) -> None:
        self.offset_bytes = offset_bytes

    async def take(self, output: agents_pb2.Output, server_ahead_ms: int) -> None:
        await asyncio.sleep(_UNHEARD_S)
        self.offset_bytes = output.offset_bytes + sum(len(piece.data) for piece in output.pieces)

    async def close(self) -> None:
        pass
