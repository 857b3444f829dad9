"""Files below a folder, reached without following any link: nothing outside of it can be touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Leaves(ValueError):
    """The path isn't one of a file below the folder; the text says why."""


def parts_of(path: str) -> tuple[str, ...]:
    """Raises Leaves for whatever isn't plainly a path below some folder."""
    if "\0" in path:
        raise Leaves(f"{path!r} holds a NUL character")
    if path.startswith("/"):
        raise Leaves(f"{path!r} is absolute; give it relative to the task's folder")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not parts:
        raise Leaves(f"{path!r} names no file")
    if ".." in parts:
        raise Leaves(f"{path!r} leaves the task's folder by '..'")
    return parts


@contextmanager
def parent_of(folder: int, parts: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """The folder that the last of the parts lies in, open; made, with `make`, where it is missing."""
    here = os.dup(folder)
    try:
        for part in parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=here)
            try:
                below = os.open(part, _FOLDER, dir_fd=here)
            except NotADirectoryError as error:
                raise Leaves(f"{'/'.join(parts)!r}: {part!r} is a link or a file, not a folder") from error
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


@contextmanager
def opened(path: os.PathLike[str]) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
