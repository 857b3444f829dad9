"""Which user uploaded which input files, and how much space each user takes.

    files/SHA256               the content, once, whoever uploaded it
    uploaded/USER/SHA256       an empty file: this user did

The marks are beside the files, not in the database: they stay right if the database is restored.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence, Set
from hashlib import sha256 as hash_of
from http import HTTPStatus
from urllib.parse import quote

from rota.backends.process.client.files import FileStore, Rejected
from rota.backends.process.folders import Folders
from rota.control.errors import BadInput
from rota.model.quantities import format_bytes
from rota.server.http.problems import ProblemError

_LEAST_BYTES = 4096
"""What the smallest file counts as: also its name takes room."""
_LONGEST_NAME = 200
_HASHED = "sha256-"


class Uploads:
    """Implements those of `loop.history`. Knows of all uploads there were and are: one server takes them."""

    def __init__(
        self, files: FileStore, folders: Folders, largest_bytes: int, quota_bytes: Callable[[str], int]
    ) -> None:
        """`quota_bytes`: of a user, for all files together; 0: no limit. Call `load` before anything else."""
        self._files = files
        self._marks = folders.uploaded
        self._largest_bytes = largest_bytes
        self._quota_bytes = quota_bytes
        self._sizes: dict[str, dict[str, int]] = defaultdict(dict)
        """By folder of a user and hash of a file."""
        self._coming_bytes: dict[str, int] = defaultdict(int)
        """Of uploads that haven't ended, by folder of a user."""
        self._finished = 0
        """Uploads so far."""

    def load(self) -> None:
        self._marks.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in self._marks.iterdir():
            for mark in folder.iterdir():
                stored = self._files.find(mark.name)
                if stored is None:
                    mark.unlink(missing_ok=True)
                else:
                    self._sizes[folder.name][mark.name] = _counted(stored.size_bytes)

    def used_bytes(self, user: str) -> int:
        return sum(list(self._sizes.get(_folder_of(user), {}).values()))

    async def put(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        """Whether it is new. Raises ProblemError for more than the user may have, BadInput for what isn't
        what it is said to be, and OSError if there is no room."""
        owner = _folder_of(user)
        is_new = self._files.find(sha256) is None
        if sha256 not in self._sizes[owner]:
            chunks = self._within_quota(chunks, user)
        try:
            stored = await self._files.put(chunks, sha256=sha256, largest_bytes=self._largest_bytes)
        except Rejected as error:
            raise BadInput("body", str(error)) from None
        await asyncio.to_thread(self._mark, owner, sha256)
        self._sizes[owner][sha256] = _counted(stored.size_bytes)
        self._finished += 1
        return is_new

    def remove_unused(self, needed: Set[str], before_ms: int, at_most: int) -> Sequence[str]:
        removed = self._files.remove_unused(needed, before_ms, at_most)
        for sha256 in removed:
            for owner, sizes in list(self._sizes.items()):
                # It may be on its way again, by the same user: then it is marked again once it is there.
                if sizes.pop(sha256, None) is not None:
                    (self._marks / owner / sha256).unlink(missing_ok=True)
        return removed

    async def _within_quota(self, chunks: AsyncIterator[bytes], user: str) -> AsyncIterator[bytes]:
        owner, quota_bytes, come_bytes = _folder_of(user), self._quota_bytes(user), _LEAST_BYTES
        used_bytes, finished = self.used_bytes(user), self._finished
        self._coming_bytes[owner] += come_bytes
        try:
            async for chunk in chunks:
                come_bytes += len(chunk)
                self._coming_bytes[owner] += len(chunk)
                if finished != self._finished:
                    used_bytes, finished = self.used_bytes(user), self._finished
                if quota_bytes and used_bytes + self._coming_bytes[owner] > quota_bytes:
                    raise _too_much(used_bytes, quota_bytes)
                yield chunk
        finally:
            self._coming_bytes[owner] -= come_bytes
            if not self._coming_bytes[owner]:
                del self._coming_bytes[owner]

    def _mark(self, owner: str, sha256: str) -> None:
        folder = self._marks / owner
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / sha256).touch(mode=0o600)


def _counted(size_bytes: int) -> int:
    return max(_LEAST_BYTES, size_bytes)


def _folder_of(user: str) -> str:
    name = quote(user, safe="")
    if len(name) <= _LONGEST_NAME and name.strip(".") and not name.startswith(_HASHED):
        return name
    return _HASHED + hash_of(user.encode()).hexdigest()


def _too_much(used_bytes: int, quota_bytes: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large-together",
        f"your input files take {format_bytes(used_bytes)} of {format_bytes(quota_bytes)}, "
        "and this one would be too much",
        help="send less, ask an operator for more, or try again later: files that no unfinished job needs "
        "are removed after a while",
        data={"used_bytes": used_bytes, "quota_bytes": quota_bytes},
    )
