"""What one start of a task has written, from any byte on: read from the keeper's files, as it comes."""

from __future__ import annotations

from pathlib import Path

from rota.backends.backend import Stream
from rota.backends.process.segments import (
    HEAD,
    LARGEST_READ_BYTES,
    STREAMS,
    Origin,
    Segment,
    frames,
    segments_in,
)
from rota.wire import agents_pb2 as wire

BATCH_BYTES = 1 << 18
_BLOCK_BYTES = BATCH_BYTES + HEAD.size + LARGEST_READ_BYTES


class OutputReader:
    """All calls wait for the disk. Holds no file open between them."""

    def __init__(self, folder: Path, origin: Origin, offset_bytes: int) -> None:
        """`offset_bytes`: so much is there already where it is sent."""
        self._folder = folder
        self._origin = origin
        self._wanted_bytes = offset_bytes
        self._segment: Segment | None = None
        self._at = 0
        self._passed_bytes = 0

    @property
    def passed_bytes(self) -> int:
        """So much the task has written, as far as it was read."""
        return max(self._passed_bytes, self._wanted_bytes)

    def read(self) -> wire.Output | None:
        """The next of about BATCH_BYTES at most; None: that was all, so far."""
        while self._segment is not None or self._go_on():
            assert self._segment is not None
            # Looked for before it is read: what is behind a later segment is complete.
            following = self._following()
            output = self._parse(_block(self._segment.path, self._at))
            if output is not None:
                return output
            if following is None:
                return None
            self._enter(following)
        return None

    def _following(self) -> Segment | None:
        here_bytes = -1 if self._segment is None else self._segment.offset_bytes
        segments = segments_in(self._folder).get(self._origin, [])
        return next((each for each in segments if each.offset_bytes > here_bytes), None)

    def _go_on(self) -> bool:
        """To the segment that the wanted byte is in, or the first that is left."""
        segments = segments_in(self._folder).get(self._origin, [])
        before = [each for each in segments if each.offset_bytes <= self._wanted_bytes]
        if not segments:
            return False
        self._enter((before or segments)[-1 if before else 0])
        if self._passed_bytes < self._wanted_bytes:
            for end, length in frames(self._segment.path if self._segment else Path()):
                if self._passed_bytes + length > self._wanted_bytes:
                    break
                self._at = end
                self._passed_bytes += length
        return True

    def _enter(self, segment: Segment) -> None:
        self._segment, self._at = segment, 0
        self._passed_bytes = segment.offset_bytes

    def _parse(self, block: bytes) -> wire.Output | None:
        output = wire.Output(offset_bytes=max(self._passed_bytes, self._wanted_bytes))
        at = 0
        while len(block) - at >= HEAD.size and at < BATCH_BYTES:
            at_ms, length, number = HEAD.unpack_from(block, at)
            begin, end = at + HEAD.size, at + HEAD.size + length
            if end > len(block):
                break
            # The first may be there in part.
            begin += max(0, self._wanted_bytes - self._passed_bytes)
            if begin < end:
                is_err = STREAMS[number] is Stream.ERR
                output.pieces.add(at_ms=at_ms, is_err=is_err, data=block[begin:end])
            self._passed_bytes += length
            self._wanted_bytes = max(self._wanted_bytes, self._passed_bytes)
            at = end
        self._at += at
        return output if output.pieces else None


def _block(path: Path, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(_BLOCK_BYTES)
    except FileNotFoundError:
        return b""
