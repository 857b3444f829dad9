"""The agent's side of the lease: until when the keeper may let tasks run."""

from __future__ import annotations

from pathlib import Path

from rota.backends.process.lease import Lease, read_lease, write_lease
from rota.clock import boot_id, since_boot_ms


class LeaseHolder:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._boot_id = boot_id()
        self._lease = read_lease(path)

    def renew(self, sent_ms: int, lease_ms: int, grace_ms: int) -> int:
        """The server has received what was sent at that time, on the clock since boot. Answers the number of
        the lease: a new one if the keeper may have ended tasks since the last time."""
        number = self._lease.number
        if since_boot_ms() >= self._lease.asks_ms:
            number += 1
        self._lease = Lease(number, sent_ms + lease_ms, grace_ms, self._boot_id)
        write_lease(self._path, self._lease)
        return number
