"""Until when tasks may run, unless that is renewed: a small file, written by an agent, read by the keeper.

An agent renews it each time its server is known to have heard of it. Should the agent be frozen, killed or
cut off, the keeper ends all tasks by itself before the server counts them as lost. A file needs neither
side to answer: the keeper looks at it when what it last read is about to end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from rota.clock import boot_id, since_boot_ms

LOOK_AT_LEAST_EACH_MS = 1_000
"""A machine that was asleep for long wakes up with its timers where they were."""


class Lease(Struct, frozen=True):
    number: int
    """Counted up whenever one had ended: what was to start under an earlier one must not."""
    ends_ms: int
    """On the clock since boot: by then no process of a task is left."""
    grace_ms: int
    """So long before, tasks are told to end."""
    boot_id: str

    @property
    def asks_ms(self) -> int:
        return self.ends_ms - self.grace_ms


NEVER = Lease(0, 0, 0, "")
_decoder = msgspec.json.Decoder(Lease)


def write_lease(path: Path, lease: Lease) -> None:
    fresh = path.with_suffix(".new")
    with open(fresh, "wb", opener=_private) as file:
        file.write(msgspec.json.encode(lease))
    fresh.replace(path)


def read_lease(path: Path) -> Lease:
    """One that has ended, if there is none, or none since this machine started."""
    with suppress(OSError, msgspec.DecodeError):
        lease = _decoder.decode(path.read_bytes())
        return lease if lease.boot_id == boot_id() else Lease(lease.number, 0, 0, "")
    return NEVER


class LeaseWatch:
    """The keeper's view of the file: read again only when it matters."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lease = read_lease(path)

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def due_ms(self) -> int:
        """When to look again, on the clock since boot."""
        return min(max(self._lease.asks_ms, since_boot_ms()), since_boot_ms() + LOOK_AT_LEAST_EACH_MS)

    def has_ended(self) -> bool:
        if since_boot_ms() >= self._lease.asks_ms:
            self._lease = read_lease(self._path)
        return since_boot_ms() >= self._lease.asks_ms

    def covers(self, number: int) -> bool:
        """Whether what was to start under that one may start now."""
        if number != self._lease.number:
            self._lease = read_lease(self._path)
        return not self.has_ended() and number == self._lease.number


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
