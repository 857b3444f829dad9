"""Reads streams in pieces of any size: events, and logs that continue after an interruption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import json

from rota.api.service import EventDocument
from rota.sdk.call import UNREADABLE, Call, given, segment
from rota.sdk.errors import BadAnswer
from rota.sdk.job_calls import LogChunk

T = TypeVar("T")

SILENCE_S = 45.0
"""A server says something every 15 s; when nothing came for so long, the stream is dead."""
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_event = json.Decoder(EventDocument).decode
_chunk = json.Decoder(LogChunk).decode


class Lines:
    """Whole lines, out of bytes as they come."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            raise BadAnswer("the server sent a line without an end")
        return [line.removesuffix(b"\r") for line in lines]


class EventPosition:
    """Where one is in the stream of events."""

    def __init__(
        self,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> None:
        self._begin = given({"after": after, "last": last})
        self._filters = given({"kind": kind, "subject": subject, "project": project})
        self._seen: int | None = None

    def call(self) -> Call[bytes]:
        """The call that continues from here."""
        params = self._filters
        headers: tuple[tuple[str, str], ...] = (("Accept", "text/event-stream"),)
        if self._seen is not None:
            headers += (("Last-Event-ID", str(self._seen)),)
        else:
            params += self._begin
        return Call("GET", "/events/stream", bytes, params, headers)

    def reader(self) -> Callable[[bytes], list[EventDocument]]:
        """Of one connection: a line that it broke off in belongs to no other."""
        lines = Lines()
        data: list[bytes] = []

        def read(piece: bytes) -> list[EventDocument]:
            found = []
            for line in lines.feed(piece):
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line and data:
                    found.append(_read(_event, b"\n".join(data)))
                    data.clear()
            if found:
                self._seen = found[-1].seq
            return found

        return read


class LogPosition:
    """Where one is in a job's logs. A server is asked for what came since a moment; what it then says
    twice is left out."""

    def __init__(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> None:
        self._path = f"/jobs/{segment('job', job)}/logs"
        self._ranks = tuple(map(str, ranks))
        self._since = since
        self._follow = follow
        self._tail = tail
        self._latest: dict[int, datetime] = {}
        self._at_latest: dict[int, Counter[LogChunk]] = {}

    def call(self) -> Call[bytes]:
        # The rank that is furthest behind decides: what others wrote since then comes twice.
        since = min(self._latest.values(), default=self._since)
        params = given(
            {
                "form": "chunks",
                "rank": self._ranks,
                "since": since,
                "follow": self._follow,
                "tail": None if self._latest else self._tail,
            }
        )
        return Call("GET", self._path, bytes, params)

    def reader(self) -> Callable[[bytes], Iterator[LogChunk]]:
        """Of one connection."""
        lines = Lines()
        known = {rank: (at, self._at_latest[rank].copy()) for rank, at in self._latest.items()}

        def read(piece: bytes) -> Iterator[LogChunk]:
            for line in lines.feed(piece):
                if not line:
                    continue
                chunk = _read(_chunk, line)
                if not _is_repeated(chunk, known):
                    self._note(chunk)
                    yield chunk

        return read

    def _note(self, chunk: LogChunk) -> None:
        latest = self._latest.get(chunk.rank)
        if latest is None or chunk.at > latest:
            self._latest[chunk.rank] = chunk.at
            self._at_latest[chunk.rank] = Counter((chunk,))
        elif chunk.at == latest:
            self._at_latest[chunk.rank][chunk] += 1


def _is_repeated(chunk: LogChunk, known: dict[int, tuple[datetime, Counter[LogChunk]]]) -> bool:
    """Whether an earlier connection brought it. `known` by rank: up to when, and what at that moment."""
    if chunk.rank not in known:
        return False
    until, at_the_last_moment = known[chunk.rank]
    if chunk.at != until:
        return chunk.at < until
    if at_the_last_moment[chunk] > 0:
        at_the_last_moment[chunk] -= 1
        return True
    return False


def _read(decode: Callable[[bytes], T], line: bytes) -> T:
    try:
        return decode(line)
    except UNREADABLE as error:
        raise BadAnswer(f"the server sent something that can't be read: {error}") from None
