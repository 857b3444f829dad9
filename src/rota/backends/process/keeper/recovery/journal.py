"""What the keeper was told and did, so that another one can go on after it.

Entries are handed to the operating system before what they announce is done: that is enough to
outlive the keeper. Only a rewrite is forced to disk. After a crash of the whole machine no task is
left, and whatever the last entries may have said, its tasks are lost.

    length   4 bytes   of the body
    check    4 bytes   CRC-32 of the body
    body     MessagePack
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rota.backends.backend import TaskEnded, TaskRef, TaskReturned, TaskStart, TaskStarted
from rota.launch.account import Account
from rota.lifecycle.state import EndReason

_HEAD = struct.Struct("<II")
_REWRITE_ABOVE_BYTES = 4 << 20


class Told(Struct, frozen=True, tag="told", array_like=True):
    start: TaskStart
    boot_id: str = ""
    """Once the machine was started anew, it isn't to start any more: it may have run, and the entries that
    say so may be lost."""


class Trying(Struct, frozen=True, tag="trying", array_like=True):
    """It is about to be started: from here on, it is never started again."""

    refs: tuple[TaskRef, ...]


class Began(Struct, frozen=True, tag="began", array_like=True):
    ref: TaskRef
    at_ms: int
    since_boot_ms: int
    """The same moment on the clock that nobody can set, for limits."""
    within_ms: int
    """It took so long to start it."""
    pid: int
    boot_id: str
    room: int
    groups: tuple[str, ...]
    """Its cgroups."""
    pipes: tuple[int, int]
    """Inodes of the pipes that its output comes through."""
    account: Account | None = None
    """As whom it runs; None: as the keeper does."""


class LimitChanged(Struct, frozen=True, tag="limit", array_like=True):
    ref: TaskRef
    time_limit_ms: int


class InputOver(Struct, frozen=True, tag="input-over", array_like=True):
    """The task has read, or can read, all that it will get: another keeper needn't have it."""

    ref: TaskRef


class StopAsked(Struct, frozen=True, tag="stop", array_like=True):
    """It is being ended."""

    ref: TaskRef
    why: EndReason


class Over(Struct, frozen=True, tag="over", array_like=True):
    report: TaskEnded | TaskReturned
    started: TaskStarted | None = None
    lane: str = ""


class Settled(Struct, frozen=True, tag="settled", array_like=True):
    refs: tuple[TaskRef, ...]


Entry: TypeAlias = Told | Trying | Began | LimitChanged | InputOver | StopAsked | Over | Settled

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Entry] = msgspec.msgpack.Decoder(Entry)


def read(path: Path) -> Iterator[Entry]:
    """All entries up to the first that is cut off or damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    at = 0
    while len(data) - at >= _HEAD.size:
        length, check = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != check:
            return
        try:
            yield _decoder.decode(body)
        except msgspec.DecodeError:
            return
        at += _HEAD.size + length


class Journal:
    """Open for writing. What was added is handed over by `flush`."""

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        """Begins anew with `entries`: all that still matters of what it held."""
        self._path = path
        self._waiting: list[bytes] = []
        self._rewrite(entries)

    @property
    def is_due_for_rewriting(self) -> bool:
        return self._size_bytes > max(_REWRITE_ABOVE_BYTES, 4 * self._size_when_rewritten_bytes)

    def add(self, entry: Entry) -> None:
        self._waiting.append(_framed(entry))

    def flush(self) -> None:
        """Raises OSError if the disk is full; what wasn't written waits for the next call, and
        nothing that it announces may be done until then."""
        if not self._waiting:
            return
        data = memoryview(b"".join(self._waiting))
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            os.ftruncate(self._file, self._size_bytes)
            raise
        self._size_bytes += sum(map(len, self._waiting))
        self._waiting.clear()

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Raises OSError, and is as it was then."""
        before = self._file
        self._rewrite(entries)
        os.close(before)
        self._waiting.clear()

    def close(self) -> None:
        self.flush()
        self.let_go()

    def let_go(self) -> None:
        """What was added and not flushed is lost."""
        os.close(self._file)

    def _rewrite(self, entries: Iterable[Entry]) -> None:
        fresh = self._path.with_suffix(".new")
        with open(fresh, "wb", opener=_private) as file:
            file.writelines(map(_framed, entries))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._size_bytes = self._size_when_rewritten_bytes = os.fstat(self._file).st_size


def _framed(entry: Entry) -> bytes:
    body = _encoder.encode(entry)
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
