"""Output of several tasks, line by line, each with its rank and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rota.sdk.job_calls import LogChunk

_LONGEST_PIECE = 64 * 1024
"""A line without end is shown in pieces: nobody can wait for all of it, nor keep it."""


def prefixed(chunks: Iterable[LogChunk]) -> Iterator[bytes]:
    """What each task wrote is cut into lines by itself, so that no two share one."""
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
