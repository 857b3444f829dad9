"""Output of several tasks, line by line, each with its rank and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rota.sdk.job_calls import LogChunk

_LONGEST_PIECE = 64 * 1024
"""A longer line is shown in pieces, so that the memory for it is bounded."""


def prefixed(chunks: Iterable[LogChunk]) -> Iterator[bytes]:
    """The output of each task is split into lines separately, so that no line mixes two tasks."""
    begun: dict[tuple[int, str], tuple[datetime, bytes]] = {}
    for chunk in chunks:
        key = chunk.rank, chunk.stream
        at, rest = begun.pop(key, (chunk.at, b""))
        *lines, rest = (rest + chunk.data).split(b"\n")
        for line in lines:
            yield _line(chunk.rank, at, line)
            at = chunk.at
        while len(rest) >= _LONGEST_PIECE:
            yield _line(chunk.rank, at, rest[:_LONGEST_PIECE])
            rest = rest[_LONGEST_PIECE:]
        if rest:
            begun[key] = at, rest
    for (rank, _), (at, rest) in begun.items():
        yield _line(rank, at, rest)


def _line(rank: int, at: datetime, line: bytes) -> bytes:
    local = at.astimezone()
    return f"[{rank}] {local:%H:%M:%S}.{local.microsecond // 1000:03d} ".encode() + line + b"\n"
