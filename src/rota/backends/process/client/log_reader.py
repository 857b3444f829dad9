"""Reads what tasks have written: from files alone, merged by time, in bounded pieces."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from msgspec.structs import replace

from rota.backends.backend import LogChunk, LogQuery
from rota.backends.process.segments import (
    HEAD,
    LARGEST_READ_BYTES,
    STREAMS,
    Origin,
    Segment,
    frames,
    segments_in,
)
from rota.lifecycle.fences import fence_before

BATCH_BYTES = 1 << 20
_BLOCK_BYTES = 2 * (HEAD.size + LARGEST_READ_BYTES)
"""More than any frame has."""


class LogReader:
    """One reading of a job's logs. Holds no file open between reads, however many ranks there are."""

    def __init__(self, folder: Path, query: LogQuery) -> None:
        self._folder = folder
        self._ranks = query.ranks
        self._above = fence_before(query.epoch)
        self._since_ms = query.since_ms
        self._cursors: dict[Origin, _Cursor] = {}
        self._skip_bytes = 0
        self._look_for_new()
        if query.tail_bytes is not None:
            self._go_to_tail(query.tail_bytes)

    def read(self) -> list[LogChunk]:
        """The next of what there is now, of about BATCH_BYTES at most; empty: that was all, so far."""
        self._look_for_new()
        batch: list[LogChunk] = []
        size_bytes = 0
        while size_bytes < BATCH_BYTES:
            ready = [
                (chunk.at_ms, cursor)
                for cursor in self._cursors.values()
                if (chunk := cursor.peek()) is not None
            ]
            if not ready:
                break
            _, earliest = min(ready, key=lambda each: each[0])
            # It stays the earliest until the first time of the others: no need to compare each chunk.
            others = min((at_ms for at_ms, cursor in ready if cursor is not earliest), default=None)
            while size_bytes < BATCH_BYTES and (chunk := earliest.peek()) is not None:
                if others is not None and chunk.at_ms > others:
                    break
                earliest.step()
                if kept := self._wanted(chunk):
                    batch.append(kept)
                    size_bytes += HEAD.size + len(kept.data)
        return batch

    def _wanted(self, chunk: LogChunk) -> LogChunk | None:
        if chunk.at_ms < self._since_ms:
            return None
        cut = min(self._skip_bytes, len(chunk.data))
        if cut == 0:
            return chunk
        self._skip_bytes -= cut
        return replace(chunk, data=chunk.data[cut:]) if cut < len(chunk.data) else None

    def _look_for_new(self) -> None:
        for origin, segments in segments_in(self._folder).items():
            if origin.fence <= self._above:
                continue
            if self._ranks is None or origin.rank in self._ranks:
                self._cursors.setdefault(origin, _Cursor(origin)).segments = segments

    def _go_to_tail(self, tail_bytes: int) -> None:
        """Each task to a tail of that length; what is too much of all together is skipped as it comes."""
        ahead_bytes = sum(cursor.go_to_tail(max(1, tail_bytes)) for cursor in self._cursors.values())
        self._skip_bytes = max(0, ahead_bytes - tail_bytes)


class _Cursor:
    """A place in the output of one start of one task."""

    def __init__(self, origin: Origin) -> None:
        self.segments: list[Segment] = []
        """As they were listed before the next read: all but the last are complete."""
        self._origin = origin
        self._segment: Segment | None = None
        self._at = 0
        self._passed_bytes = 0
        """Of output, before the place."""
        self._shown_bytes = 0
        """Of output, up to the last byte that was read. A writer that was given up may have gone on for a
        moment in its own segment: bytes are the same wherever they are, and shown once."""
        self._dropped_bytes = 0
        self._ahead: deque[LogChunk] = deque()

    def peek(self) -> LogChunk | None:
        if not self._ahead:
            self._refill()
        return self._ahead[0] if self._ahead else None

    def step(self) -> None:
        self._ahead.popleft()

    def go_to_tail(self, tail_bytes: int) -> int:
        """The last frame with at least so much behind its beginning, or the beginning of all; returns
        how much lies ahead."""
        ahead_bytes = 0
        for segment in reversed(self.segments):
            segment_bytes = sum(length for _, length in frames(segment.path))
            surplus_bytes = ahead_bytes + segment_bytes - tail_bytes
            if surplus_bytes >= 0:
                self._segment, self._at, skipped_bytes = segment, 0, 0
                for end, length in frames(segment.path):
                    if skipped_bytes + length > surplus_bytes:
                        break
                    self._at = end
                    skipped_bytes += length
                self._passed_bytes = self._shown_bytes = segment.offset_bytes + skipped_bytes
                return ahead_bytes + segment_bytes - skipped_bytes
            ahead_bytes += segment_bytes
        return ahead_bytes

    def _refill(self) -> None:
        while self._segment is not None or self._go_on():
            assert self._segment is not None
            try:
                with self._segment.path.open("rb") as file:
                    file.seek(self._at)
                    block = file.read(_BLOCK_BYTES)
            except FileNotFoundError:
                block = b""
            has_moved = self._parse(block)
            if self._ahead or not (has_moved or self._go_on()):
                return

    def _go_on(self) -> bool:
        """To the next segment, if there is one."""
        here_bytes = -1 if self._segment is None else self._segment.offset_bytes
        following = next((each for each in self.segments if each.offset_bytes > here_bytes), None)
        if following is None:
            return False
        self._dropped_bytes += max(0, following.offset_bytes - self._shown_bytes)
        self._passed_bytes = following.offset_bytes
        self._shown_bytes = max(self._shown_bytes, following.offset_bytes)
        self._segment, self._at = following, 0
        return True

    def _parse(self, block: bytes) -> bool:
        at = 0
        while len(block) - at >= HEAD.size:
            at_ms, length, number = HEAD.unpack_from(block, at)
            begin, end = at + HEAD.size, at + HEAD.size + length
            if end > len(block):
                break
            self._passed_bytes += length
            at = end
            unseen_bytes = self._passed_bytes - self._shown_bytes
            if unseen_bytes <= 0:
                continue
            rank, fence = self._origin
            data = block[max(begin, end - unseen_bytes) : end]
            self._ahead.append(LogChunk(rank, STREAMS[number], at_ms, data, fence, self._dropped_bytes))
            self._dropped_bytes = 0
            self._shown_bytes = self._passed_bytes
        self._at += at
        return at > 0
