"""Output and files of tasks, read from their folders: while they are written, or until they are deleted."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from rota.backends.backend import KeptFile, LogChunk, LogQuery
from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of
from rota.backends.process.client.log_reader import LogReader
from rota.backends.process.folders import Folders
from rota.model.ids import JobId
from rota.patience.backoff import Backoff

_LOOKS = Backoff(first_s=0.02, longest_s=0.2)
"""What comes one after the other, as at a terminal, is shown sooner than what comes now and then."""
_PIECE_BYTES = 1 << 18


class TaskFiles:
    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._followed: dict[JobId, set[asyncio.Event]] = {}
        """Of those who wait for output of a job: it may have come."""

    def may_have_written(self, job: JobId) -> None:
        """Who follows its output looks at once, instead of after a while."""
        for event in self._followed.get(job, ()):
            event.set()

    async def logs(self, query: LogQuery, may_write: Callable[[], bool]) -> AsyncIterator[Sequence[LogChunk]]:
        """`may_write`: whether a task of the job still runs."""
        folder = self._folders.logs_of(query.job)
        reader = await asyncio.to_thread(LogReader, folder, query)
        news, in_vain = asyncio.Event(), 0
        self._followed.setdefault(query.job, set()).add(news)
        try:
            while True:
                news.clear()
                # Asked before it is read: all that was written before the end is read after it.
                is_last = not query.follow or not may_write()
                while chunks := await asyncio.to_thread(reader.read):
                    yield chunks
                    in_vain = 0
                if is_last:
                    return
                in_vain += 1
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOKS.pause_s(in_vain, chance=0.0)):
                        await news.wait()
                        in_vain = 0
        finally:
            self._forget_follower(query.job, news)

    def _forget_follower(self, job: JobId, news: asyncio.Event) -> None:
        followers = self._followed[job]
        followers.discard(news)
        if not followers:
            del self._followed[job]

    async def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        """Raises FileNotFoundError before the first bytes."""
        with self._open_output(job, rank, path, epoch) as file:
            while data := await asyncio.to_thread(file.read, _PIECE_BYTES):
                yield data

    def _open_output(self, job: JobId, rank: int, path: str, epoch: int) -> BinaryIO:
        for folder in self._folders.all_outputs_of_task(job, rank, epoch):
            try:
                parts = parts_of(path)
                with opened(folder) as root, parent_of(root, parts, make=False) as parent:
                    return _open_regular(parts[-1], parent)
            except (Leaves, FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
        raise FileNotFoundError(f"no task has left a file {path!r}")

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        """Of all files of each."""
        return await asyncio.to_thread(lambda: [self._size_bytes(job) for job in jobs])

    def _size_bytes(self, job: JobId) -> int:
        return _size_below(self._folders.logs_of(job)) + _size_below(self._folders.outputs_of(job))

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return await asyncio.to_thread(self._outputs, job, epoch)

    def _outputs(self, job: JobId, epoch: int) -> Sequence[KeptFile]:
        found: dict[tuple[int, str], KeptFile] = {}
        for rank in self._folders.ranks_with_outputs(job):
            for folder in self._folders.all_outputs_of_task(job, rank, epoch):
                for path, status in _files_below(folder):
                    executable = bool(status.st_mode & stat.S_IXUSR)
                    found.setdefault((rank, path), KeptFile(rank, path, status.st_size, executable))
        return sorted(found.values())

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await asyncio.to_thread(self._remove, jobs)

    def _remove(self, jobs: Sequence[JobId]) -> None:
        for job in jobs:
            for folder in (self._folders.logs_of(job), self._folders.outputs_of(job)):
                shutil.rmtree(folder, ignore_errors=True)


def _size_below(folder: str | os.PathLike[str]) -> int:
    """Follows no links. What goes meanwhile counts as nothing."""
    size_bytes = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    size_bytes += _size_below(entry)
                else:
                    size_bytes += entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return size_bytes


def _files_below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for path in folder.rglob("*"):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield path.relative_to(folder).as_posix(), status


def _open_regular(name: str, parent: int) -> BinaryIO:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise IsADirectoryError(errno.EISDIR, "not a file", name)
    return os.fdopen(file, "rb")
