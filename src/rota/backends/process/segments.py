"""The files that a task's output is kept in.

    logs/JOB/RANK-FENCE-OFFSET    one segment; OFFSET: how many bytes the task had written before it

A segment is frame after frame, each with the bytes of one read:

    time     8 bytes   milliseconds, when they were read
    length   4 bytes
    stream   1 byte    1: standard output, 2: standard error

A segment that was dropped to make room leaves a gap between the offsets: no note of it is needed.
"""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rota.backends.backend import Stream

HEAD = struct.Struct("<qIB")
LARGEST_READ_BYTES = 64 << 10
NUMBERS = {Stream.OUT: 1, Stream.ERR: 2}
STREAMS = {number: stream for stream, number in NUMBERS.items()}

_NAME = re.compile(r"([0-9]{1,10})-([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


class Origin(NamedTuple):
    """Of output: which start of which task. Sorts as logs are to be read."""

    rank: int
    fence: int


class Segment(NamedTuple):
    offset_bytes: int
    path: Path


def segment_name(origin: Origin, offset_bytes: int) -> str:
    return f"{origin.rank}-{origin.fence}-{offset_bytes}"


def segments_in(folder: Path) -> dict[Origin, list[Segment]]:
    """By origin, each with its segments in order; empty if nothing was written."""
    found: dict[Origin, list[Segment]] = defaultdict(list)
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return {}
    for path in paths:
        if match := _NAME.fullmatch(path.name):
            rank, fence, offset_bytes = map(int, match.groups())
            found[Origin(rank, fence)].append(Segment(offset_bytes, path))
    return {origin: sorted(found[origin]) for origin in sorted(found)}


MOST_EARLIER = 32
"""Segments of earlier starts of a task that are kept, however small they are."""


def make_room_for(origin: Origin, folder: Path, most_bytes: int) -> None:
    """A task that is started again: of its earlier starts the latest segment stays, and what makes so much
    together at most."""
    earlier: list[tuple[Origin, int]] = []
    for name in os.listdir(folder):
        if name.startswith(f"{origin.rank}-") and (match := _NAME.fullmatch(name)):
            found = Origin(origin.rank, int(match[2]))
            if found.fence < origin.fence:
                earlier.append((found, int(match[3])))
    size_bytes = 0
    for count, (found, offset_bytes) in enumerate(sorted(earlier, reverse=True), 1):
        path = folder / segment_name(found, offset_bytes)
        with suppress(FileNotFoundError):
            size_bytes += path.stat().st_size
            if count > 1 and (size_bytes > most_bytes or count > MOST_EARLIER):
                path.unlink()


def frames(path: Path) -> Iterator[tuple[int, int]]:
    """Where each whole frame ends, and how much output it holds."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        size_bytes = os.fstat(file.fileno()).st_size
        end = 0
        while len(head := file.read(HEAD.size)) == HEAD.size:
            length = HEAD.unpack(head)[1]
            end += HEAD.size + length
            if end > size_bytes:
                return
            file.seek(length, os.SEEK_CUR)
            yield end, length
