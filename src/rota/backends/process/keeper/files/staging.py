"""Puts a task's input files in place: all of them, verified, or none.

They are copied into a folder beside the one where the task will run. Where the task has a folder of
its own, that one takes its place in a single rename; a directory that others use as well gets file
after file, each in a single rename, and only once all are known to be right.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.archive import MOST_UNPACKED_BYTES, BadArchive, unpack
from rota.backends.process.keeper.files.rooms import Room, hand_over
from rota.launch.account import Account, acting_as
from rota.model.run import InputFile, Run

_COPY_BYTES = 1 << 20


class StagingFailed(Exception):
    """The text says which file, and why."""


def stage(run: Run, folders: Folders, room: Room, storage_bytes: int = 0) -> None:
    """What is uploaded is read as ourselves; whatever is the task's is made and touched as its account.
    `storage_bytes`: what its archives may take on disk together; 0: the job didn't say."""
    left_bytes = storage_bytes or MOST_UNPACKED_BYTES
    os.mkdir(room.staging, 0o700)
    hand_over(room.staging, room.account)
    with _opened_by(room.account, room.staging) as staging:
        for file in run.files:
            try:
                with _uploaded(file, folders) as source, acting_as(room.account):
                    left_bytes -= _place(file, source, staging, left_bytes)
            except (BadArchive, Leaves, ValueError) as error:
                raise StagingFailed(f"{file.path}: {error}") from error
            except FileExistsError as error:
                raise StagingFailed(f"{file.path}: another input file has this path already") from error
            except OSError as error:
                raise StagingFailed(f"{file.path}: {error.strerror}") from error
    if run.directory:
        with acting_as(room.account):
            _move_into(room.staging, Path(run.directory))
    else:
        os.rename(room.staging, room.work)


@contextmanager
def _opened_by(account: Account | None, folder: Path) -> Iterator[int]:
    with ExitStack() as opening:
        with acting_as(account):
            fd = opening.enter_context(opened(folder))
        yield fd


def _uploaded(file: InputFile, folders: Folders) -> BinaryIO:
    try:
        return folders.file(file.sha256).open("rb")
    except FileNotFoundError:
        raise StagingFailed(f"{file.path}: its content isn't here; upload it again") from None


def _place(file: InputFile, source: BinaryIO, staging: int, most_bytes: int) -> int:
    """How much of `most_bytes` it took, which is for archives."""
    parts = parts_of(file.path) if not (file.unpack and file.path in ("", ".")) else ()
    if file.unpack:
        if _hash(source.fileno(), None) != (file.sha256, file.size_bytes):
            raise StagingFailed(f"{file.path}: {_DAMAGED}")
        source.seek(0)
        return unpack(source, staging, parts, most_bytes)
    mode = 0o755 if file.executable else 0o644
    with parent_of(staging, parts, make=True) as parent:
        target = os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=parent)
        try:
            if _hash(source.fileno(), target) != (file.sha256, file.size_bytes):
                raise StagingFailed(f"{file.path}: {_DAMAGED}")
        finally:
            os.close(target)
    return 0


_DAMAGED = "what is stored of it differs in content or size from what was declared; upload it again"


def _hash(source: int, target: int | None) -> tuple[str, int]:
    digest, size_bytes = hashlib.sha256(), 0
    while data := os.read(source, _COPY_BYTES):
        digest.update(data)
        size_bytes += len(data)
        rest = memoryview(data) if target is not None else memoryview(b"")
        while target is not None and rest:
            rest = rest[os.write(target, rest) :]
    return digest.hexdigest(), size_bytes


def _move_into(staging: Path, directory: Path) -> None:
    try:
        with opened(directory) as target:
            for folder, _, names in os.walk(staging):
                relative = Path(folder).relative_to(staging).parts
                for name in sorted(names):
                    _move(Path(folder) / name, target, (*relative, name))
    except Leaves as error:
        raise StagingFailed(f"{directory}: {error}") from error
    except OSError as error:
        raise StagingFailed(f"{directory}: {error.strerror}") from error


def _move(source: Path, directory: int, parts: Sequence[str]) -> None:
    with parent_of(directory, tuple(parts), make=True) as parent:
        temporary = f".{parts[-1][:200]}.rota-{os.getpid()}"
        try:
            if source.is_symlink():
                os.symlink(os.readlink(source), temporary, dir_fd=parent)
            else:
                _copy_durably(source, temporary, parent)
            os.rename(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)
            raise


def _copy_durably(source: Path, name: str, parent: int) -> None:
    with source.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=parent)
        try:
            _hash(file.fileno(), target)
            os.fsync(target)
        finally:
            os.close(target)
