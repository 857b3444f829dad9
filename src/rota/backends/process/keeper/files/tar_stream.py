"""The bytes of a tar archive as `tarfile` reads them: decompressed, in one direction, and bounded.

`tarfile` reads extended headers whole into memory, however large they say they are, and goes back to
earlier members if a header tells it to. Neither is possible here.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from typing import BinaryIO, cast

MOST_HEADER_BYTES = 256 << 10
"""Of one member: its name, its link, attributes. A path that Linux takes has 4 KiB at most."""
_SPARE_BYTES = 16 << 20
"""Of all headers, beyond as much as may be unpacked."""
_BLOCK_BYTES = 512
_DIGITS = re.compile(rb"[0-9]{100}")
"""`tarfile` looks for numbers in a time that grows with the square of their length."""

_GZIP, _BZIP2, _XZ, _LZMA = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x5d\0\0"


class TooMuch(Exception):
    """More than an archive may hold; the text says what."""


class TarStream:
    """What `TarFile` needs of a file, and no more."""

    def __init__(self, file: BinaryIO, most_bytes: int) -> None:
        self._file = _decompressed(file)
        self._at = 0
        self._most_bytes = most_bytes
        self._in_header = True
        self._header_bytes = 0
        self._all_header_bytes = 0

    def expect_header(self) -> None:
        """What is read from now on is about a member."""
        self._in_header = True
        self._header_bytes = 0

    def expect_content(self) -> None:
        """What is read from now on is a member's content: the caller counts it."""
        self._in_header = False

    def tell(self) -> int:
        return self._at

    def seek(self, at: int) -> int:
        if at < self._at:
            raise TooMuch("holds a header that points back into it")
        while at > self._at and self.read(min(_BLOCK_BYTES, at - self._at)):
            pass
        return self._at

    def read(self, size: int) -> bytes:
        if self._in_header:
            self._count_header(size)
        data = self._file.read(size)
        self._at += len(data)
        if self._in_header and size > _BLOCK_BYTES and _DIGITS.search(data):
            raise TooMuch("holds a header with a number of 100 digits")
        return data

    def _count_header(self, size: int) -> None:
        """Before it is read: that is when memory is taken."""
        self._header_bytes += size
        self._all_header_bytes += size
        if size < 0 or self._header_bytes > MOST_HEADER_BYTES:
            raise TooMuch(f"holds a header of more than {MOST_HEADER_BYTES >> 10} KiB")
        if self._all_header_bytes > self._most_bytes + _SPARE_BYTES:
            raise TooMuch("holds more headers than files")


def _decompressed(file: BinaryIO) -> BinaryIO:
    start = file.read(len(_XZ))
    file.seek(0)
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start.startswith(_BZIP2):
        return cast(BinaryIO, bz2.BZ2File(file))
    if start.startswith((_XZ, _LZMA)):
        return cast(BinaryIO, lzma.LZMAFile(file))
    return file
