"""What an agent's task writes and leaves: kept as the keeper of this machine keeps it, or passed on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from pathlib import Path
from tempfile import mkstemp
from typing import Protocol

import structlog

from rota.backends.agents.claims import Refusal
from rota.backends.backend import KeptFile, LogChunk, LogQuery, Stream, TaskRef
from rota.backends.process.beneath import Leaves, parts_of
from rota.backends.process.client.task_files import TaskFiles
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.outputs import LARGEST_BYTES
from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, LogWriter, Rotation
from rota.backends.process.segments import LARGEST_READ_BYTES, Origin
from rota.backends.process.space import RESERVE_BYTES, ensure_room
from rota.model.ids import JobId
from rota.wire import agents_pb2 as wire

log = structlog.get_logger()

_MOST_OUTPUT_BYTES = 10**17
_LATEST_MS = 2**62
_WRITE_AGAIN_S = 1.0


class NobodyListens(Exception):
    """Whoever was to have the output isn't there any more. Once they are, another stream is to bring what
    they lack of it."""


class Arriving(Protocol):
    """The output of one start of one task, as one stream brings it."""

    @property
    def offset_bytes(self) -> int:
        """So much has come."""

    async def take(self, output: wire.Output, server_ahead_ms: int) -> None:
        """As long as it waits, no more is read: the agent waits, and in the end the task. Raises Refusal for
        what can't be, and NobodyListens."""

    async def close(self) -> None: ...


class Arrivals(Protocol):
    """Where all that comes goes."""

    def open(self) -> None:
        """Before anything else."""

    async def arriving(self, ref: TaskRef, log_bytes: int | None = None) -> Arriving:
        """Waits until it is known how much has come before. `log_bytes`: its limit, which its agent keeps it
        to; of its earlier starts no more is to be kept either."""

    async def keep_file(
        self, ref: TaskRef, path: str, chunks: AsyncIterable[bytes], *, executable: bool = False
    ) -> None:
        """One of a task's outputs; there once it is whole. Raises Refusal for what may not be kept, and
        NobodyListens."""

    def logs(self, query: LogQuery, may_write: Callable[[], bool]) -> AsyncIterator[Sequence[LogChunk]]: ...

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]: ...

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]: ...

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]: ...

    async def forget(self, jobs: Sequence[JobId]) -> None: ...


def checked_offset_bytes(output: wire.Output) -> int:
    if not 0 <= output.offset_bytes <= _MOST_OUTPUT_BYTES:
        raise Refusal(f"output.offset_bytes: {output.offset_bytes} can't be")
    return output.offset_bytes


def believed_ms(at_ms: int, server_ahead_ms: int) -> int:
    return min(max(0, at_ms + server_ahead_ms), _LATEST_MS)


class FolderArrivals:
    """Implements Arrivals: all is kept in a folder of the server's."""

    def __init__(self, folder: Path, rotation: Rotation = DEFAULT_ROTATION) -> None:
        self._folders = Folders(folder)
        self._left = TaskFiles(self._folders)
        self._rotation = rotation

    def open(self) -> None:
        self._folders.make()

    async def arriving(self, ref: TaskRef, log_bytes: int | None = None) -> KeptOutput:
        return KeptOutput(await asyncio.to_thread(OutputFiles, self._folders, ref, self._rotation, log_bytes))

    async def keep_file(
        self, ref: TaskRef, path: str, chunks: AsyncIterable[bytes], *, executable: bool = False
    ) -> None:
        mode = 0o700 if executable else 0o600
        await keep_file(self._folders, ref, path, chunks, self._rotation.reserve_bytes, mode)

    def logs(self, query: LogQuery, may_write: Callable[[], bool]) -> AsyncIterator[Sequence[LogChunk]]:
        return self._left.logs(query, may_write)

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        return self._left.output(job, rank, path, epoch)

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return await self._left.sizes(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return await self._left.outputs(job, epoch)

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await self._left.forget(jobs)


class KeptOutput:
    """Implements Arriving."""

    def __init__(self, files: OutputFiles) -> None:
        self._files = files

    @property
    def offset_bytes(self) -> int:
        return self._files.offset_bytes

    async def take(self, output: wire.Output, server_ahead_ms: int) -> None:
        while True:
            writing = asyncio.ensure_future(asyncio.to_thread(self._files.take, output, server_ahead_ms))
            try:
                await asyncio.shield(writing)
                return
            except asyncio.CancelledError:
                # Nobody else may write before that is done.
                await asyncio.wait([writing])
                raise
            except OSError as error:
                log.error("task.output_unwritten", why=str(error))
                await asyncio.sleep(_WRITE_AGAIN_S)

    async def close(self) -> None:
        await asyncio.to_thread(self._files.close)


class OutputFiles:
    """Of one start of one task. All calls wait for the disk."""

    def __init__(
        self, folders: Folders, ref: TaskRef, rotation: Rotation, log_bytes: int | None = None
    ) -> None:
        self._writer = LogWriter(folders.logs_of(ref.job), Origin(ref.rank, ref.fence), rotation, log_bytes)
        self._writer.resume()

    @property
    def offset_bytes(self) -> int:
        return self._writer.offset_bytes

    def take(self, output: wire.Output, server_ahead_ms: int) -> None:
        """Raises OSError when the disk takes no more; then the same may be given again, and goes on from
        there. What had come already is passed over; what never came leaves a gap."""
        at_bytes = checked_offset_bytes(output)
        if at_bytes > self._writer.offset_bytes:
            self._writer.skip(at_bytes - self._writer.offset_bytes)
        for piece in output.pieces:
            stream = Stream.ERR if piece.is_err else Stream.OUT
            end_bytes = at_bytes + len(piece.data)
            while self._writer.offset_bytes < end_bytes:
                begin = self._writer.offset_bytes - at_bytes
                data = piece.data[begin : begin + LARGEST_READ_BYTES]
                self._writer.write(stream, data, believed_ms(piece.at_ms, server_ahead_ms))
            at_bytes = end_bytes

    def close(self) -> None:
        self._writer.close()


async def keep_file(
    folders: Folders,
    ref: TaskRef,
    path: str,
    chunks: AsyncIterable[bytes],
    reserve_bytes: int = RESERVE_BYTES,
    mode: int = 0o600,
) -> None:
    kept = folders.outputs_of_task(ref).joinpath(*checked_parts(path))
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd, name = mkstemp(prefix="output-", dir=folders.files)
    half = Path(name)
    try:
        with os.fdopen(fd, "wb") as file:
            async for chunk in not_too_large(path, chunks):
                ensure_room(fd, reserve_bytes)
                await asyncio.to_thread(file.write, chunk)
            os.fchmod(fd, mode)
        half.replace(kept)  # noqa: ASYNC240 – a name in a folder is changed: nothing is written
    finally:
        half.unlink(missing_ok=True)  # noqa: ASYNC240 – a name in a folder is changed: nothing is written


async def not_too_large(path: str, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same, up to what may be kept of one file. Raises Refusal beyond."""
    size_bytes = 0
    async for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > LARGEST_BYTES:
            raise Refusal(f"{path}: larger than {LARGEST_BYTES >> 20} MiB, the limit for output files")
        yield chunk


def checked_parts(path: str) -> Sequence[str]:
    """Raises Refusal for a path that leads elsewhere."""
    try:
        return parts_of(path)
    except Leaves as error:
        raise Refusal(f"path: {error}") from None
