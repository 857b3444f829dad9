"""Large buffers leave no holes in the heap. What is set is set for a process, so each test has its own."""

from __future__ import annotations

import subprocess
import sys
from ctypes import CDLL

import pytest

pytestmark = pytest.mark.skipif(not hasattr(CDLL(None), "mallinfo2"), reason="not glibc's allocator")

MEASURE = """
from ctypes import CDLL, Structure, c_size_t
from rota.heap import keep_the_heap_small

class Info(Structure):
    _fields_ = [(name, c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]

mallinfo = CDLL(None).mallinfo2
mallinfo.restype = Info
{first}
# Once a large block is freed, glibc takes further ones of its size from the heap.
bytearray(400_000)
before = mallinfo()
buffers = [bytearray(256 * 1024) for _ in range(40)]
after = mallinfo()
print(after.arena - before.arena, after.hblks - before.hblks)
"""


def measured(first: str) -> tuple[int, int]:
    """By how many bytes 40 buffers make the heap grow, and how many of them have pages of their own."""
    code = MEASURE.format(first=first)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown_bytes, own_pages = map(int, ended.stdout.split())
    return grown_bytes, own_pages


def test_large_buffers_have_pages_of_their_own() -> None:
    grown_bytes, own_pages = measured("keep_the_heap_small()")
    assert grown_bytes < 256 * 1024
    assert own_pages == 40


def test_without_it_the_heap_grows() -> None:
    grown_bytes, own_pages = measured("")
    assert grown_bytes >= 39 * 256 * 1024
    assert own_pages == 0
