"""The data folder of a server: one server at a time uses it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FILE = "lock"
DATABASE_FILE = "rota.db"


class FolderTaken(Exception):
    """Names the folder, and what to do."""


@contextmanager
def own_folder(folder: Path, taken: str = "stop it, or give another folder with --data") -> Iterator[Path]:
    """Two servers on one folder would each undo what the other does. `taken`: the remedy."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderTaken(
            f"{folder} can't be used: {error.strerror}; give another folder with --data"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise FolderTaken(f"another server uses {folder}; {taken}") from None
    try:
        yield folder
    finally:
        os.close(lock)


def database_url(stated: str, folder: Path) -> str:
    """Of the settings, or SQLite in the folder."""
    return stated or f"sqlite:///{folder / DATABASE_FILE}"
