"""The folder that the servers of one database share: the output and files of jobs are there for every leader.

A marker in it says which folder it is, and the database which one it should be: a folder that isn't mounted,
or another one, is noticed before anything is missed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

_MARKER_FILE = "cluster"
_LONGEST = 100


class FilesError(Exception):
    """Why the folder won't do, and what to do."""


def check_shared(folder: Path, known: Callable[[Callable[[], bytes]], bytes]) -> None:
    """`known`: tells which marker the database names, the one that is made if it names none. Raises
    FilesError."""
    try:
        marker = _marker_of(folder)
    except OSError as error:
        raise FilesError(
            f"server.files: {folder} can't be used: {error.strerror}; give a folder that all servers share"
        ) from None
    expected = known(lambda: marker.encode()).decode()
    if marker != expected:
        raise FilesError(
            f"server.files: {folder} isn't the folder that the servers of this database share; mount that "
            f"one, and set server.files to it on all of them. If it is lost for good, go on with this one: "
            f"echo {expected} > {folder / _MARKER_FILE}"
        )


def _marker_of(folder: Path) -> str:
    """Of servers that make it at the same time, one does."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _MARKER_FILE
    if not path.exists():
        unfinished = folder / f"{_MARKER_FILE}.{os.getpid()}.{token_hex(4)}"
        unfinished.write_text(f"{token_hex(16)}\n")
        with suppress(FileExistsError):
            path.hardlink_to(unfinished)
        unfinished.unlink()
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("ascii", "replace").strip()
