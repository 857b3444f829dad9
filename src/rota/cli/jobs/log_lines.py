"""Output of several tasks, line by line, each with its rank and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rota.sdk.job_calls import LogChunk

_LONGEST_PIECE = 64 * 1024
"""A longer line is shown in pieces, so that the memory for it is bounded."""


def prefixed(chunks: Iterable[LogChunk], element: str = "") -> Iterator[bytes]:
    """The output of each task is split into lines separately, so that no line mixes two tasks. `element`: of
    an array, which job it is of."""
    begun: dict[tuple[int, str], tuple[datetime, bytes]] = {}
    for chunk in chunks:
        key = chunk.rank, chunk.stream
        at, rest = begun.pop(key, (chunk.at, b""))
        *lines, rest = (rest + chunk.data).split(b"\n")
        for line in lines:
            yield _line(_whose(chunk.rank, element), at, line)
            at = chunk.at
        while len(rest) >= _LONGEST_PIECE:
            yield _line(_whose(chunk.rank, element), at, rest[:_LONGEST_PIECE])
            rest = rest[_LONGEST_PIECE:]
        if rest:
            begun[key] = at, rest
    for (rank, _), (at, rest) in begun.items():
        yield _line(_whose(rank, element), at, rest)


def _whose(rank: int, element: str) -> str:
    if not element:
        return str(rank)
    return f"{element}/{rank}" if rank else element


def _line(whose: str, at: datetime, line: bytes) -> bytes:
    local = at.astimezone()
    return f"[{whose}] {local:%H:%M:%S}.{local.microsecond // 1000:03d} ".encode() + line + b"\n"
