"""What tasks of agents write and leave, as it arrives: kept as the keeper of this machine keeps it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable
from pathlib import Path
from tempfile import mkstemp

from rota.backends.agents.claims import Refusal
from rota.backends.backend import Stream, TaskRef
from rota.backends.process.beneath import Leaves, parts_of
from rota.backends.process.folders import Folders
from rota.backends.process.log_writer import LogWriter, Rotation
from rota.backends.process.outputs import LARGEST_BYTES
from rota.backends.process.segments import LARGEST_READ_BYTES, Origin
from rota.wire import agents_pb2 as wire

_MOST_OUTPUT_BYTES = 10**17
_LATEST_MS = 2**62


class ArrivingOutput:
    """Of one start of one task. All calls wait for the disk."""

    def __init__(self, folders: Folders, ref: TaskRef, rotation: Rotation) -> None:
        self._writer = LogWriter(folders.logs_of(ref.job), Origin(ref.rank, ref.fence), rotation)
        self._writer.resume()

    @property
    def offset_bytes(self) -> int:
        return self._writer.offset_bytes

    def take(self, output: wire.Output, server_ahead_ms: int) -> None:
        """Raises OSError when the disk takes no more; then the same may be given again, and goes on from
        there. What had come already is passed over; what never came leaves a gap."""
        at_bytes = output.offset_bytes
        if not 0 <= at_bytes <= _MOST_OUTPUT_BYTES:
            raise Refusal(f"output.offset_bytes: {at_bytes} can't be")
        if at_bytes > self._writer.offset_bytes:
            self._writer.skip(at_bytes - self._writer.offset_bytes)
        for piece in output.pieces:
            stream = Stream.ERR if piece.is_err else Stream.OUT
            end_bytes = at_bytes + len(piece.data)
            while self._writer.offset_bytes < end_bytes:
                begin = self._writer.offset_bytes - at_bytes
                data = piece.data[begin : begin + LARGEST_READ_BYTES]
                at_ms = min(max(0, piece.at_ms + server_ahead_ms), _LATEST_MS)
                self._writer.write(stream, data, at_ms)
            at_bytes = end_bytes

    def close(self) -> None:
        self._writer.close()


async def keep_file(folders: Folders, ref: TaskRef, path: str, chunks: AsyncIterable[bytes]) -> None:
    """One of a task's outputs; there once it is whole. Raises Refusal for what may not be kept."""
    try:
        kept = folders.outputs_of_task(ref.job, ref.rank).joinpath(*parts_of(path))
    except Leaves as error:
        raise Refusal(f"path: {error}") from None
    size_bytes = 0
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd, name = mkstemp(prefix="output-", dir=folders.files)
    half = Path(name)
    try:
        with os.fdopen(fd, "wb") as file:
            async for chunk in chunks:
                size_bytes += len(chunk)
                if size_bytes > LARGEST_BYTES:
                    raise Refusal(f"{path}: larger than {LARGEST_BYTES >> 20} MiB, the most that is kept")
                await asyncio.to_thread(file.write, chunk)
        half.replace(kept)
    finally:
        half.unlink(missing_ok=True)
