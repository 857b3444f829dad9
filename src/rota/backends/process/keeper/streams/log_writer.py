"""From the pipes of a task into its segments: as fast as the disk takes it, and no faster.

While the disk is full nothing is read, so that the task blocks on its next write instead of losing
output. The keeper tries again each second.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from pathlib import Path

from msgspec import Struct

from rota.backends.backend import Stream
from rota.backends.process.keeper.streams.masking import Mask
from rota.backends.process.output_limit import is_used_up, kept_of
from rota.backends.process.segments import (
    HEAD,
    LARGEST_READ_BYTES,
    NUMBERS,
    Origin,
    frames,
    make_room_for,
    segment_name,
    segments_in,
)
from rota.backends.process.space import RESERVE_BYTES, ensure_room
from rota.clock import now_ms


class Rotation(Struct, frozen=True):
    """How much output of each start of a task is kept: the latest. Of all earlier starts together as much
    again."""

    segment_bytes: int = 64 << 20
    segments: int = 4
    reserve_bytes: int = RESERVE_BYTES
    """So much of the disk isn't written to."""

    @property
    def most_bytes(self) -> int:
        return self.segment_bytes * self.segments

    def stricter(self, log_bytes: int | None) -> int | None:
        """The limit of a policy, if less is kept by it than by rotation."""
        return log_bytes if log_bytes is not None and log_bytes < self.most_bytes else None


DEFAULT_ROTATION = Rotation()


class LogWriter:
    """Of one start of one task. No file is made before the first byte."""

    def __init__(
        self, folder: Path, origin: Origin, rotation: Rotation, log_bytes: int | None = None
    ) -> None:
        """`log_bytes`: the limit of the policy. Whoever writes keeps to it; here it bounds earlier starts."""
        self._folder = folder
        self._origin = origin
        self._rotation = rotation
        self.log_bytes = rotation.stricter(log_bytes)
        self._file: int | None = None
        self._kept: deque[Path] = deque()
        self._offset_bytes = 0
        self._size_bytes = 0
        self._waiting: tuple[bytes, bytes] | None = None

    def resume(self) -> None:
        """After another writer, whose last frame may be cut off: goes on in a new segment."""
        existing = segments_in(self._folder).get(self._origin, [])
        self._kept.extend(segment.path for segment in existing)
        for segment in existing[-1:]:
            self._offset_bytes = segment.offset_bytes + sum(length for _, length in frames(segment.path))
            if self._offset_bytes == segment.offset_bytes:
                self._kept.pop().unlink()

    @property
    def offset_bytes(self) -> int:
        """So much the task has written, as far as it came here."""
        return self._offset_bytes

    def skip(self, dropped_bytes: int) -> None:
        """These will never come: the gap shows in the name of the next segment."""
        self.close()
        self._offset_bytes += dropped_bytes

    def write(self, stream: Stream, data: bytes, at_ms: int | None = None) -> None:
        """At most one read at a time, with the time at which it was read, if that isn't now. Raises OSError
        when the disk doesn't take it, and keeps it until `retry` succeeds."""
        self._waiting = HEAD.pack(now_ms() if at_ms is None else at_ms, len(data), NUMBERS[stream]), data
        self.retry()

    def retry(self) -> None:
        if self._waiting is None:
            return
        head, data = self._waiting
        file = self._segment()
        ensure_room(file, self._rotation.reserve_bytes)
        try:
            written = os.writev(file, (head, data))
            while written < len(head) + len(data):
                written += os.write(file, (head + data)[written:])
        except OSError:
            os.ftruncate(file, self._size_bytes)
            os.lseek(file, self._size_bytes, os.SEEK_SET)
            raise
        self._size_bytes += written
        self._offset_bytes += len(data)
        self._waiting = None

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _segment(self) -> int:
        if self._file is not None and self._size_bytes < self._rotation.segment_bytes:
            return self._file
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / segment_name(self._origin, self._offset_bytes)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        if not self._kept:
            most_bytes = self._rotation.most_bytes if self.log_bytes is None else self.log_bytes
            make_room_for(self._origin, self._folder, most_bytes)
        self.close()
        self._file, self._size_bytes = file, 0
        self._kept.append(path)
        while len(self._kept) > self._rotation.segments:
            self._kept.popleft().unlink(missing_ok=True)
        return file


class Drain:
    """The two pipes of a task and where they lead."""

    def __init__(self, out: int | None, err: int | None, writer: LogWriter, mask: Mask | None = None) -> None:
        """`mask`: hides the secrets that the task was given."""
        self.pipes = {fd: stream for fd, stream in ((out, Stream.OUT), (err, Stream.ERR)) if fd is not None}
        self.writer = writer
        self._mask = mask

    def take(self, fd: int) -> bool:
        """One read's worth; False: there will be no more. Raises OSError as `LogWriter.write`."""
        try:
            data = self._read(fd)
        except BlockingIOError:
            return True
        if not data:
            self._write_rest(self.pipes[fd])
            return False
        self._write(self.pipes[fd], data)
        return True

    def finish(self) -> None:
        """All its processes are gone: what is still in the pipes is all that comes."""
        self.writer.retry()
        for fd in list(self.pipes):
            while True:
                try:
                    data = self._read(fd)
                except BlockingIOError:
                    # Somebody who isn't of the task was handed the pipe; what they write isn't its output.
                    data = b""
                if not data:
                    break
                self._write(self.pipes[fd], data)
            self._write_rest(self.pipes[fd])
            self.shut(fd)
        self.writer.close()

    def _read(self, fd: int) -> bytes:
        try:
            return os.read(fd, self._readable_bytes(fd))
        except BlockingIOError:
            raise
        except OSError as error:
            # Of a terminal: its other side is closed, as at the end of a pipe.
            if error.errno == errno.EIO:
                return b""
            raise

    def _readable_bytes(self, fd: int) -> int:
        """With what is held back, no more than a frame may hold."""
        held_bytes = 0 if self._mask is None else self._mask.held_bytes(self.pipes[fd])
        return LARGEST_READ_BYTES - held_bytes

    def _write(self, stream: Stream, data: bytes) -> None:
        if self.writer.log_bytes is not None and is_used_up(self.writer.offset_bytes, self.writer.log_bytes):
            return
        self._keep(stream, data if self._mask is None else self._mask.feed(stream, data))

    def _write_rest(self, stream: Stream) -> None:
        """No more comes of this stream."""
        if self._mask is not None:
            self._keep(stream, self._mask.rest(stream))

    def _keep(self, stream: Stream, data: bytes) -> None:
        if self.writer.log_bytes is not None:
            data = kept_of(data, self.writer.offset_bytes, self.writer.log_bytes)
        if data:
            self.writer.write(stream, data)

    def shut(self, fd: int) -> None:
        del self.pipes[fd]
        os.close(fd)

    def close(self) -> None:
        for fd in list(self.pipes):
            self.shut(fd)
        self.writer.close()
