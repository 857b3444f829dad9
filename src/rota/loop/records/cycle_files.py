"""Append-only files of entries, and the detection of damage.

A folder holds `cycles-000000001.log` and so on, each named after its first cycle and complete in
itself. A file begins with a line, `rota-cycles FORMAT VERSION`; then comes entry after entry:

    length   4 bytes, big-endian: of the body
    check    4 bytes: CRC-32 of the length and the body
    body     deflated MessagePack

An entry is written in one go and handed to the operating system: a process that dies leaves at most its last
entry incomplete, which length and check reveal.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rota import __version__
from rota.intake.errors import InputError

FORMAT = 2
"""1: reasons are a code and texts, see `format_1`. 2: each has its own fields."""

_NAME = re.compile(r"cycles-([0-9]+)\.log", re.ASCII)
_TITLE = re.compile(rb"rota-cycles ([0-9]{1,9}) ([!-~]{1,100})\n")
_LONGEST_TITLE = 200
_HEAD = struct.Struct(">II")
_LEVEL = 1
_LEAST_BEFORE_NEXT_BYTES = 1 << 20


class CycleFile(NamedTuple):
    first: int
    """The number of its first cycle."""
    path: Path


class Frame(NamedTuple):
    at_byte: int
    payload: bytes


def cycle_files(folder: Path) -> list[CycleFile]:
    """In the order of the cycles."""
    found = ((match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name)))
    return sorted(CycleFile(int(match[1]), path) for match, path in found)


class CycleWriter:
    """Appends to a folder. What is there already stays as it is: a new file is begun."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.next_number = _next_number(folder)
        self._file: BinaryIO | None = None
        self._base_bytes = self._further_bytes = 0

    @property
    def wants_base(self) -> bool:
        """Whether the next entry is to begin a file, complete in itself: at first, and whenever as much again
        has been written. So a record is at most about twice as large as what changed, and reading one cycle
        takes about as much as its cluster."""
        return self._file is None or self._further_bytes > max(self._base_bytes, _LEAST_BEFORE_NEXT_BYTES)

    def begin_file(self) -> None:
        self.close()
        path = self._folder / f"cycles-{self.next_number:09}.log"
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise InputError(
                str(path), "another process records into this folder", "give each process one of its own"
            ) from None
        self._file.write(f"rota-cycles {FORMAT} {__version__}\n".encode())
        self._base_bytes = self._further_bytes = 0

    def append(self, payload: bytes) -> None:
        assert self._file is not None
        body = zlib.compress(payload, _LEVEL)
        self.next_number += 1
        try:
            self._file.write(_HEAD.pack(len(body), _check(body)) + body)
            self._file.flush()
        except OSError:
            # Nothing can follow an entry that is cut off.
            with suppress(OSError):
                self.close()
            raise
        if self._base_bytes:
            self._further_bytes += len(body)
        else:
            self._base_bytes = len(body)

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


def _next_number(folder: Path) -> int:
    """One that was begun counts, even if it is cut off: it had been decided."""
    files = cycle_files(folder)
    if not files:
        return 1
    first, path = files[-1]
    size = path.stat().st_size
    count = 0
    with path.open("rb") as file:
        file.readline(_LONGEST_TITLE)
        while file.tell() < size:
            head = file.read(_HEAD.size)
            count += 1
            if len(head) < _HEAD.size:
                break
            file.seek(_HEAD.unpack(head)[0], 1)
    return first + max(count, 1)


class CycleReader:
    """One file, entry by entry. Raises InputError where it is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self._size = path.stat().st_size
        try:
            self.format, self.version = self._read_title()
            """The version is of the Rota that wrote it."""
        except InputError:
            self._file.close()
            raise

    def _read_title(self) -> tuple[int, str]:
        line = self._file.readline(_LONGEST_TITLE)
        match = _TITLE.fullmatch(line)
        if not match:
            if not line.endswith(b"\n") and b"rota-cycles ".startswith(line[:12]):
                raise self.error(0, "the file is cut off before its first cycle")
            raise self.error(0, "this is no record of cycles", "give a folder that --record wrote")
        if int(match[1]) > FORMAT:
            raise self.error(
                0,
                f"format {int(match[1])}, written by rota {match[2].decode()}; this one, {__version__},"
                f" reads up to format {FORMAT}",
                "use that version, or a newer one",
            )
        return int(match[1]), match[2].decode()

    def frames(self) -> Iterator[Frame]:
        with self._file:
            while (at_byte := self._file.tell()) < self._size:
                yield Frame(at_byte, self._payload(at_byte))

    def _payload(self, at_byte: int) -> bytes:
        head = self._file.read(_HEAD.size)
        length, check = _HEAD.unpack(head) if len(head) == _HEAD.size else (self._size, 0)
        if length > self._size - at_byte - _HEAD.size:
            raise self.error(at_byte, "the entry is cut off")
        body = self._file.read(length)
        if _check(body) != check:
            raise self.error(at_byte, "the entry is damaged: its checksum is wrong")
        try:
            return zlib.decompress(body)
        except zlib.error as error:
            raise self.error(at_byte, f"the entry can't be unpacked: {error}") from None

    def error(self, at_byte: int, problem: str, remedy: str = "") -> InputError:
        return InputError(str(self._path), f"byte {at_byte:,}: {problem}", remedy)


def _check(body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack(">I", len(body))))
