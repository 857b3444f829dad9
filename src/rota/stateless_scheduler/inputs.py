"""Input files of actions, by their content, for as long as an action needs them: in memory alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from typing import BinaryIO

from rota.model.run import InputFile

MOST_BYTES = 512 << 20
"""Of all actions together."""


class InputFiles:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._files: dict[str, bytes] = {}
        self._uses: Counter[str] = Counter()
        self._most_bytes = most_bytes
        self.size_bytes = 0

    def has_room_for(self, files: Iterable[tuple[str, bytes]]) -> bool:
        new = {sha256: len(data) for sha256, data in files if sha256 not in self._files}
        return self.size_bytes + sum(new.values()) <= self._most_bytes

    def add(self, files: Iterable[tuple[str, bytes]]) -> None:
        for sha256, data in files:
            if sha256 not in self._files:
                self._files[sha256] = data
                self.size_bytes += len(data)
            self._uses[sha256] += 1

    def release(self, files: Iterable[InputFile]) -> None:
        for file in files:
            self._uses[file.sha256] -= 1
            if not self._uses[file.sha256]:
                del self._uses[file.sha256]
                self.size_bytes -= len(self._files.pop(file.sha256))

    def find(self, sha256: str) -> bytes | None:
        return self._files.get(sha256)

    def open(self, sha256: str) -> BinaryIO:
        return BytesIO(self._files[sha256])
