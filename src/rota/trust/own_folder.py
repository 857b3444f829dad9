"""A data folder: one server or agent at a time uses it, and nobody else reads it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderTaken(Exception):
    """Names the folder, and what to do."""


@contextmanager
def own_folder(
    folder: Path, lock_file: str, user: str, remedy: str = "stop it, or give another folder with --data"
) -> Iterator[Path]:
    """Two on one folder would each undo what the other does. `user`: "server" or "agent"; `remedy`: what to
    do if another one is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        lock = os.open(folder / lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderTaken(
            f"{folder} can't be used: {error.strerror}; give another folder with --data"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise FolderTaken(f"another {user} uses {folder}; {remedy}") from None
    try:
        yield folder
    finally:
        os.close(lock)
