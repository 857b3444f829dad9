"""Keeps the files that a task was to leave behind."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of
from rota.backends.process.space import ensure_room

LARGEST_BYTES = 64 << 20


def collect(paths: tuple[str, ...], source: Path, target: Path, *, move: bool) -> str:
    """Puts those of the files that exist below `target`; returns what couldn't be kept, and why."""
    refused: list[str] = []
    with opened(source) as folder:
        for path in paths:
            try:
                _keep(parts_of(path), folder, target, move=move)
            except FileNotFoundError:
                continue
            except Leaves as error:
                refused.append(str(error))
            except OSError as error:
                refused.append(f"{path!r}: {error.strerror}")
    return "; ".join(f"not kept: {each}" for each in refused)


def _keep(parts: tuple[str, ...], folder: int, target: Path, *, move: bool) -> None:
    with parent_of(folder, parts, make=False) as parent:
        status = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise Leaves(f"{'/'.join(parts)!r} is not a file")
        if status.st_size > LARGEST_BYTES:
            raise Leaves(f"{'/'.join(parts)!r} is larger than {LARGEST_BYTES >> 20} MiB")
        kept = target.joinpath(*parts)
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if move:
            os.rename(parts[-1], kept, src_dir_fd=parent)
            return
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        half = kept.with_name(f"{kept.name}.half")
        with os.fdopen(file, "rb") as reading, half.open("wb") as writing:
            ensure_room(writing.fileno())
            shutil.copyfileobj(reading, writing)
        half.replace(kept)
