"""Where the memory of large buffers comes from, in a process that runs for months.

Each TLS connection has a buffer of 256 KiB, and each read from one asks for another. glibc gives such blocks
pages of their own until the first of them is freed, and from then on cuts them out of the heap, in between
small things that stay. The holes don't fit the next buffer, and so the heap grows for as long as it runs.
"""

from __future__ import annotations

from ctypes import CDLL

OWN_PAGES_FROM_BYTES = 128 * 1024
"""Where glibc begins; once it is set, it no longer changes by itself."""

_M_MMAP_THRESHOLD = -3


def keep_large_buffers_out_of_the_heap() -> None:
    """From now on they get pages of their own in this process, and give them back when they are freed.

    Each read costs a few system calls more for it, which is little beside the request that it is part of.
    Allocators other than glibc's have no such setting, and nothing is done.
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, OWN_PAGES_FROM_BYTES)
