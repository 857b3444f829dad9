"""What backend and keeper say to each other: MessagePack bodies behind their length.

Every request carries a number that its answer repeats. Reports come unasked, in batches, and all
that aren't settled come again on each new connection.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rota.backends.backend import Fed, InputPiece, TaskRef, TaskReport, TaskStart

PROTOCOL = 1
"""Counted up when a keeper of before wouldn't understand: it may outlive an upgrade of the server."""

LARGEST_BYTES = 256 << 20
_LENGTH = struct.Struct("<I")


class Start(Struct, frozen=True, tag="start"):
    call: int
    tasks: Sequence[TaskStart]
    lease: int = 0
    """The number of the lease that they were sent under, where there are leases."""


class Stop(Struct, frozen=True, tag="stop"):
    call: int
    refs: Sequence[TaskRef]


class ChangeLimit(Struct, frozen=True, tag="change-limit"):
    call: int
    ref: TaskRef
    time_limit_ms: int


class Settle(Struct, frozen=True, tag="settle"):
    call: int
    refs: Sequence[TaskRef]


class Describe(Struct, frozen=True, tag="describe"):
    """Asks for what the keeper has, and what is wrong."""

    call: int


class Feed(Struct, frozen=True, tag="feed"):
    """For keepers that said `INPUT`. Answered once it is taken."""

    call: int
    ref: TaskRef
    piece: InputPiece


Request: TypeAlias = Start | Stop | ChangeLimit | Settle | Describe | Feed

INPUT = "input"
"""What a keeper says that takes it: one of before does not, and may outlive an upgrade."""


class Hello(Struct, frozen=True, tag="hello"):
    """The first that a keeper says."""

    protocol: int
    pid: int
    features: tuple[str, ...] = ()
    """What it can do that those of before couldn't."""


class Done(Struct, frozen=True, tag="done"):
    """What was asked for is written down."""

    call: int


class Description(Struct, frozen=True, tag="description"):
    call: int
    unsettled: Sequence[TaskRef]
    lacking: Sequence[str]
    """What this host can't do, ever or at the moment."""
    wrong: Sequence[str]


class Taken(Struct, frozen=True, tag="taken"):
    call: int
    fed: Fed


class Reports(Struct, frozen=True, tag="reports"):
    reports: Sequence[TaskReport]


Answer: TypeAlias = Hello | Done | Description | Taken | Reports

_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


class BadFrame(Exception):
    """The other side doesn't speak as agreed: the connection is of no use any more."""


def frame(message: Request | Answer) -> bytes:
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


def read_request(body: bytes) -> Request:
    try:
        return _requests.decode(body)
    except msgspec.DecodeError as error:
        raise BadFrame(str(error)) from error


def read_answer(body: bytes) -> Answer:
    try:
        return _answers.decode(body)
    except msgspec.DecodeError as error:
        raise BadFrame(str(error)) from error


class Inbox:
    """Bytes as they come in; whole bodies as they go out."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._bytes += data
        at = 0
        while len(self._bytes) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes, at)
            if length > LARGEST_BYTES:
                raise BadFrame(f"a frame of {length} bytes; the most is {LARGEST_BYTES}")
            end = at + _LENGTH.size + length
            if len(self._bytes) < end:
                break
            yield bytes(self._bytes[at + _LENGTH.size : end])
            at = end
        del self._bytes[:at]
