"""Secrets in a task's output are replaced before anything is written down.

A value may be cut in two by how it is read: what could be the beginning of one is held back until more comes,
or the task has ended.
"""

from __future__ import annotations

from collections.abc import Iterable

from rota.backends.backend import Stream

MASK = b"***"
MOST_PATTERNS = 512
"""The keeper looks for each of them in all that a task writes, and has other tasks to look after."""
_SHORTEST_BYTES = 4
"""Shorter ones would hide every second word, and are no secrets."""
_LONGEST_BYTES = 128
"""Longer lines are looked for in pieces: so the cost of a read is bounded."""


def patterns_of(values: Iterable[str]) -> list[bytes]:
    """What to look for. Of a value with several lines each counts by itself: programs print them so."""
    pieces: set[bytes] = set()
    for value in values:
        for line in value.splitlines():
            text = line.strip().encode()
            # The last piece overlaps the one before it rather than being too short to look for.
            last = max(0, len(text) - _LONGEST_BYTES)
            starts = (min(at, last) for at in range(0, len(text), _LONGEST_BYTES))
            pieces.update(text[at : at + _LONGEST_BYTES] for at in starts)
    return sorted((one for one in pieces if len(one) >= _SHORTEST_BYTES), key=lambda one: (-len(one), one))


class Mask:
    """For the output of one task."""

    def __init__(self, values: Iterable[str]) -> None:
        self._secrets = patterns_of(values)
        self._longest = len(self._secrets[0]) if self._secrets else 0
        self._beginnings = {one[:length] for one in self._secrets for length in range(1, len(one))}
        self._held: dict[Stream, bytes] = {}

    def feed(self, stream: Stream, data: bytes) -> bytes:
        """What may be written now."""
        if not self._secrets:
            return data
        data = self._held.pop(stream, b"") + data
        until = self._safe_until(data)
        if until < len(data):
            self._held[stream] = data[until:]
        return self._masked(data[:until])

    def held_bytes(self, stream: Stream) -> int:
        return len(self._held.get(stream, b""))

    def rest(self, stream: Stream) -> bytes:
        """No more comes: what was held back."""
        return self._masked(self._held.pop(stream, b""))

    def _masked(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        at = 0
        for begin, end in self._spans(data):
            parts += (data[at:begin], MASK)
            at = end
        return b"".join((*parts, data[at:])) if parts else data

    def _spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets lie. Those that overlap are one: cutting one out must not save half of another."""
        found: list[tuple[int, int]] = []
        for secret in self._secrets:
            begin = data.find(secret)
            while begin >= 0:
                end = begin + len(secret)
                found.append((begin, end))
                # One that overlaps it, as far behind as may be: long runs of the same take few steps.
                overlapping = data.rfind(secret, begin + 1, end + len(secret))
                begin = overlapping if overlapping >= 0 else data.find(secret, end)
        merged: list[tuple[int, int]] = []
        for begin, end in sorted(found):
            if merged and begin < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((begin, end))
        return merged

    def _safe_until(self, data: bytes) -> int:
        """Behind it, the beginning of a secret may lie. No secret lies across it."""
        lengths = range(min(self._longest - 1, len(data)), 0, -1)
        held = next((length for length in lengths if data[-length:] in self._beginnings), 0)
        until, before = len(data) - held, -1
        while before < until < len(data):
            before = until
            for secret in self._secrets:
                across = data.rfind(secret, max(0, until - len(secret) + 1), until + len(secret) - 1)
                if across >= 0:
                    until = across + len(secret)
        return until


class Withheld(Mask):
    """For a task whose secrets aren't known any more: nothing of what it writes may be shown."""

    def __init__(self) -> None:
        super().__init__(())
        self._is_said = False

    def feed(self, stream: Stream, data: bytes) -> bytes:
        if self._is_said:
            return b""
        self._is_said = True
        return b"[output withheld: after a restart the secrets in it can't be masked any more]\n"
