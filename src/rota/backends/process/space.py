"""Room on the disk that what users write may not take: the database and the keeper's journal need it."""

from __future__ import annotations

import errno
import os

RESERVE_BYTES = 512 << 20
_MOST_OF_A_DISK = 20
"""The reserve is at most a twentieth of it."""


def ensure_room(file: int, reserve_bytes: int = RESERVE_BYTES) -> None:
    """Of the disk that the open file is on. Raises OSError, as a full disk does."""
    disk = os.fstatvfs(file)
    kept_bytes = min(reserve_bytes, disk.f_blocks * disk.f_frsize // _MOST_OF_A_DISK)
    if disk.f_bavail * disk.f_frsize < kept_bytes:
        why = f"{os.strerror(errno.ENOSPC)}: the last {kept_bytes >> 20} MiB are reserved for Rota"
        raise OSError(errno.ENOSPC, why)
