"""What users upload, by its content: written once, verified, never changed."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import os
import tempfile
import threading
from collections.abc import AsyncIterable, Sequence, Set
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from rota.backends.process.folders import Folders, is_sha256
from rota.backends.process.space import RESERVE_BYTES, ensure_room


class StoredFile(Struct, frozen=True):
    sha256: str
    size_bytes: int


class Rejected(ValueError):
    """Nothing was kept; the text says why."""


class FileStore:
    """Equal contents are kept once."""

    def __init__(self, folders: Folders, reserve_bytes: int = RESERVE_BYTES) -> None:
        """`reserve_bytes`: so much of the disk isn't written to."""
        self._folders = folders
        self._reserve_bytes = reserve_bytes
        self._replacing = threading.Lock()
        """A file that is uploaded again is not the old one any more."""

    async def put(
        self, chunks: AsyncIterable[bytes], *, sha256: str | None = None, largest_bytes: int | None = None
    ) -> StoredFile:
        """There under its name once it is whole and on disk; raises Rejected if it isn't what was
        announced, or too large, and OSError if there is no room."""
        if sha256 is not None:
            self._folders.file(sha256)
        digest, size_bytes = hashlib.sha256(), 0
        fd, name = tempfile.mkstemp(prefix="upload-", dir=self._folders.files)
        half = Path(name)
        try:
            with os.fdopen(fd, "wb") as file:
                async for chunk in chunks:
                    size_bytes += len(chunk)
                    if largest_bytes is not None and size_bytes > largest_bytes:
                        raise Rejected(
                            f"the file is larger than {largest_bytes} bytes, the most that is taken"
                        )
                    ensure_room(fd, self._reserve_bytes)
                    digest.update(chunk)
                    await asyncio.to_thread(file.write, chunk)
                await asyncio.to_thread(_to_disk, file)
            stored = StoredFile(digest.hexdigest(), size_bytes)
            if sha256 not in (None, stored.sha256):
                raise Rejected(f"sha256: the content has {stored.sha256}, not {sha256}; upload it again")
            with self._replacing:
                half.replace(self._folders.file(stored.sha256))  # noqa: ASYNC240 – a name in a folder is changed: nothing is written
            return stored
        finally:
            half.unlink(missing_ok=True)  # noqa: ASYNC240 – a name in a folder is changed: nothing is written

    def find(self, sha256: str) -> StoredFile | None:
        try:
            return StoredFile(sha256, self._folders.file(sha256).stat().st_size)
        except FileNotFoundError:
            return None

    def open(self, sha256: str) -> BinaryIO:
        """Raises FileNotFoundError."""
        return self._folders.file(sha256).open("rb")

    def remove_unused(self, needed: Set[str], before_ms: int, at_most: int) -> Sequence[str]:
        """Those that were last uploaded before, the oldest first; tells which were removed."""
        with os.scandir(self._folders.files) as entries:
            unused = [Path(entry) for entry in entries if is_sha256(entry.name) and entry.name not in needed]
        old = [(at_ms, path) for path in unused if (at_ms := _uploaded_ms(path)) < before_ms]
        oldest = heapq.nsmallest(at_most, old)
        return [path.name for _, path in oldest if self._remove_old(path, before_ms)]

    def _remove_old(self, path: Path, before_ms: int) -> bool:
        with self._replacing:
            if _uploaded_ms(path) >= before_ms:
                return False
            path.unlink()
            return True

    def remove_halves(self) -> None:
        """Left by a server that ended in the middle of an upload; none may be going on."""
        for path in self._folders.files.glob("upload-*"):
            path.unlink(missing_ok=True)


def _uploaded_ms(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
