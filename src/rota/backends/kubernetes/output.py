"""What pods write, kept in a folder of the server: as it comes, without secrets, up to its limit."""

from __future__ import annotations

import asyncio

import structlog

from rota.backends.backend import Stream, TaskRef
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import LogWriter, Rotation
from rota.backends.process.keeper.streams.masking import Mask
from rota.backends.process.output_limit import is_used_up, kept_of
from rota.backends.process.segments import LARGEST_READ_BYTES, Origin, segments_in

log = structlog.get_logger()

_WRITE_AGAIN_S = 1.0
_PIECE_BYTES = LARGEST_READ_BYTES // 2


class PodOutput:
    """Of one start of one task. The pod has all of it: after a restart it is read anew from the beginning."""

    def __init__(
        self, folders: Folders, ref: TaskRef, rotation: Rotation, log_bytes: int | None, mask: Mask
    ) -> None:
        self._folder = folders.logs_of(ref.job)
        self._origin = Origin(ref.rank, ref.fence)
        self._writer = LogWriter(self._folder, self._origin, rotation, log_bytes)
        self._mask = mask
        self.read_bytes = {Stream.OUT: 0, Stream.ERR: 0}
        """As the pod counts them."""
        self._is_begun = False

    @property
    def is_full(self) -> bool:
        """Nothing of what comes will be kept."""
        limit = self._writer.log_bytes
        return limit is not None and is_used_up(self._writer.offset_bytes, limit)

    async def begin(self) -> None:
        """What an earlier server kept of it comes again."""
        if not self._is_begun:
            self._is_begun = True
            await asyncio.to_thread(self._forget)

    def _forget(self) -> None:
        for segment in segments_in(self._folder).get(self._origin, ()):
            segment.path.unlink(missing_ok=True)

    async def take(self, stream: Stream, data: bytes) -> None:
        for at in range(0, len(data), _PIECE_BYTES):
            piece = data[at : at + _PIECE_BYTES]
            await self._keep(stream, self._mask.feed(stream, piece))
            self.read_bytes[stream] += len(piece)

    async def finish(self) -> None:
        for stream in Stream:
            await self._keep(stream, self._mask.rest(stream))
        self.close()

    def close(self) -> None:
        self._writer.close()

    async def _keep(self, stream: Stream, data: bytes) -> None:
        limit = self._writer.log_bytes
        if limit is not None:
            data = b"" if self.is_full else kept_of(data, self._writer.offset_bytes, limit)
        if not data:
            return
        write = asyncio.to_thread(self._writer.write, stream, data)
        while True:
            try:
                await write
                return
            except OSError as error:
                # The pod keeps the rest meanwhile.
                log.error("task.output_unwritten", why=str(error))
                await asyncio.sleep(_WRITE_AGAIN_S)
                write = asyncio.to_thread(self._writer.retry)
