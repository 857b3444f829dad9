"""Folders of what jobs wrote and left, copied while tasks go on writing."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from rota.backends.process.folders import Folders
from rota.server.copies.errors import CopyError

_ROOTS = ("worker", "agents")


def kept_folders(root: Path) -> list[Path]:
    """Below a data folder, or one that servers share: the output, kept files and input files of jobs."""
    found = []
    for name in _ROOTS:
        folders = Folders(root / name)
        found += [folders.logs, folders.outputs, folders.files, folders.uploaded]
    return [folder for folder in found if folder.exists()]


def copy_tree(source: Path, target: Path) -> int:
    """How many files. What is removed meanwhile is left out; links stay links; nobody else may read any."""
    count = 0
    if source.is_file():
        return _copy_file(source, target)
    for place, folders, names in os.walk(source):
        here = target / Path(place).relative_to(source)
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in [*names, *links]:
            with suppress(FileNotFoundError):
                count += _copy_file(Path(place, name), here / name)
    return count


def _copy_file(source: Path, target: Path) -> int:
    mode = source.lstat().st_mode
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        if stat.S_ISLNK(mode):
            target.unlink(missing_ok=True)
            target.symlink_to(os.readlink(source))
        elif stat.S_ISREG(mode):
            shutil.copyfile(source, target)
            target.chmod((mode & 0o700) | 0o600)
        else:
            return 0
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CopyError(f"{source} can't be copied to {target}: {error.strerror}") from None
    return 1
