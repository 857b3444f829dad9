"""Which parts of a file aren't on its disk yet, as the kernel knows: pages of its cache that are dirty.

A page that the kernel has begun to write counts as written: less may be lost than could be, and never more.
https://docs.kernel.org/admin-guide/mm/pagemap.html
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

PAGE_BYTES = mmap.PAGESIZE
_ENTRY_BYTES = 8
_FRAME_NUMBER = (1 << 55) - 1
_DIRTY = 1 << 4


def first_unsynced_page(path: Path, until: int) -> int | None:
    """The offset of the first page before byte `until`, of those that lie before it as a whole; None: all of
    them are on disk, or the kernel doesn't tell, as it does to root alone."""
    pages = until // PAGE_BYTES
    if not pages:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), pages * PAGE_BYTES, prot=mmap.PROT_READ) as view:
        for page in range(pages):
            view[page * PAGE_BYTES]  # Seen once, so that it is in this process's table.
        begin = _address(path)
        offsets = range(0, pages * PAGE_BYTES, PAGE_BYTES)
        try:
            return next((offset for offset in offsets if _flags(begin + offset) & _DIRTY), None)
        except PermissionError:
            return None


def _address(path: Path) -> int:
    """Where this process has it mapped."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(f" {path.resolve()}"):
            return int(line.partition("-")[0], 16)
    raise AssertionError(f"{path} isn't mapped")


def _flags(address: int) -> int:
    entry = _number("/proc/self/pagemap", address // PAGE_BYTES)
    return _number("/proc/kpageflags", entry & _FRAME_NUMBER)


def _number(path: str, index: int) -> int:
    with open(path, "rb") as file:
        file.seek(index * _ENTRY_BYTES)
        number: int
        (number,) = struct.unpack("=Q", file.read(_ENTRY_BYTES))
        return number
