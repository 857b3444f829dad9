"""A file that has to stay the one that it was: neither removed, nor replaced by another of its name."""

from __future__ import annotations

import os
from pathlib import Path


class PinnedFile:
    def __init__(self, path: Path) -> None:
        """Raises OSError if it isn't there."""
        self.path = path
        # While it is held, no other file is given its number. O_PATH: whoever closes another descriptor of an
        # SQLite file takes the locks away that SQLite has on it.
        self._held = os.open(path, os.O_PATH | os.O_CLOEXEC)
        self._identity = _identity(os.fstat(self._held))

    @property
    def is_there(self) -> bool:
        try:
            return _identity(os.stat(self.path)) == self._identity
        except OSError:
            return False

    def release(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
