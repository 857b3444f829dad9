"""The data folder of a server: what stands where in it, and that one server at a time uses it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from rota.trust.own_folder import own_folder

LOCK_FILE = "lock"
DATABASE_FILE = "rota.db"


def servers_folder(
    folder: Path, remedy: str = "stop it, or give another folder with --data"
) -> AbstractContextManager[Path]:
    """Raises FolderTaken. `remedy`: what to do if another server is there."""
    return own_folder(folder, LOCK_FILE, "server", remedy)


def database_url(stated: str, folder: Path) -> str:
    """Of the settings, or SQLite in the folder."""
    return stated or f"sqlite:///{folder / DATABASE_FILE}"
