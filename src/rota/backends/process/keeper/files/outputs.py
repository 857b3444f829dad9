"""Keeps the files that a task was to leave behind."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of
from rota.backends.process.space import ensure_room
from rota.launch.account import Account, acting_as
from rota.model.outputs import is_meant, is_pattern, plain_beginning

LARGEST_BYTES = 64 << 20
MOST_FILES = 10_000
"""That one pattern or folder may mean."""
_MOST_TOLD = 10
_COPY_BYTES = 1 << 20


def collect(
    paths: tuple[str, ...], source: Path, target: Path, *, move: bool, account: Account | None = None
) -> str:
    """Puts those of the files that exist below `target`; returns what couldn't be kept, and why. They are
    opened as `account`, and what is kept of them is ours."""
    refused: list[str] = []
    with ExitStack() as opening:
        with acting_as(account):
            folder = opening.enter_context(opened(source))
        for path in paths:
            try:
                with acting_as(account):
                    found = _found(path, folder)
            except Leaves as error:
                refused.append(str(error))
                continue
            if not found:
                refused.append(f"{path!r}, which isn't there")
            elif len(found) > MOST_FILES:
                refused.append(f"{path!r}: more than {MOST_FILES:,} files")
                found = []
            for each in found:
                try:
                    _keep(parts_of(each), folder, target, move=move, account=account)
                except FileNotFoundError:
                    refused.append(f"{each!r}, which isn't there")
                except Leaves as error:
                    refused.append(str(error))
                except OSError as error:
                    refused.append(f"{each!r}: {error.strerror}")
    return "; ".join(f"not kept: {each}" for each in [*refused[:_MOST_TOLD], *_rest(refused)])


def _rest(refused: list[str]) -> list[str]:
    more = len(refused) - _MOST_TOLD
    return [f"{more:,} more"] if more > 0 else []


def _found(path: str, folder: int) -> list[str]:
    """The files that it means, in order; itself where it is no pattern and no folder."""
    with suppress(OSError):
        parts = parts_of(path)
        with parent_of(folder, parts, make=False) as parent:
            status = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            return [path]
        return _below(folder, "/".join(parts), path)
    return _below(folder, plain_beginning(path), path) if is_pattern(path) else []


def _below(folder: int, start: str, path: str) -> list[str]:
    """Links are no files, and never followed."""
    found: list[str] = []
    with suppress(OSError):
        for where, folders, names, here in os.fwalk(start or ".", dir_fd=folder):
            folders.sort()
            for name in sorted(names):
                each = posixpath.normpath(f"{where}/{name}")
                if is_meant(each, (path,)) and stat.S_ISREG(_mode(name, here)):
                    found.append(each)
            if len(found) > MOST_FILES:
                break
    return found


def _mode(name: str, folder: int) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0


def _keep(parts: tuple[str, ...], folder: int, target: Path, *, move: bool, account: Account | None) -> None:
    kept = target.joinpath(*parts)
    with ExitStack() as opening:
        with acting_as(account):
            parent = opening.enter_context(parent_of(folder, parts, make=False))
            if move:
                _check(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False), parts)
            else:
                file = opening.enter_context(_opened(parts, parent))
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if move:
            os.rename(parts[-1], kept, src_dir_fd=parent)
            kept.chmod(_kept_mode(kept.stat().st_mode))
            return
        half = kept.with_name(f"{kept.name}.half")
        with half.open("wb") as writing:
            ensure_room(writing.fileno())
            _copy(file, writing, parts)
            os.fchmod(writing.fileno(), _kept_mode(os.fstat(file.fileno()).st_mode))
        half.replace(kept)


def _opened(parts: tuple[str, ...], parent: int) -> BinaryIO:
    # Without waiting: a pipe that nobody writes to would keep us for ever.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(parts[-1], flags, dir_fd=parent), "rb")
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise Leaves(f"{'/'.join(parts)!r} is not a file") from None
        raise
    try:
        _check(os.fstat(file.fileno()), parts)
    except Leaves:
        file.close()
        raise
    return file


def _check(status: os.stat_result, parts: tuple[str, ...]) -> None:
    """Raises Leaves if it is no file, or too large."""
    if not stat.S_ISREG(status.st_mode):
        raise Leaves(f"{'/'.join(parts)!r} is not a file")
    if status.st_size > LARGEST_BYTES:
        raise _too_large(parts)


def _kept_mode(mode: int) -> int:
    """Ours to read, and executable if it was."""
    return 0o700 if mode & 0o100 else 0o600


def _copy(file: BinaryIO, to: BinaryIO, parts: tuple[str, ...]) -> None:
    left_bytes = LARGEST_BYTES
    while data := file.read(min(_COPY_BYTES, left_bytes + 1)):
        left_bytes -= len(data)
        if left_bytes < 0:
            raise _too_large(parts)
        to.write(data)


def _too_large(parts: tuple[str, ...]) -> Leaves:
    return Leaves(f"{'/'.join(parts)!r} is larger than {LARGEST_BYTES >> 20} MiB")
