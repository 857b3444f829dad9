"""Where memory comes from in a process that runs for months, so that it doesn't grow with time.

Large buffers, of requests and TLS connections: glibc gives such blocks pages of their own until the first of
them is freed. From then on it cuts them out of the heap, in between small things that stay. The holes don't
fit the next buffer, and the heap grows for as long as the process runs.

Threads: glibc gives each its own heap, up to eight for each core, and each of them grows as described.
"""

from __future__ import annotations

from ctypes import CDLL

OWN_PAGES_FROM_BYTES = 128 * 1024
"""Where glibc begins; once it is set, it no longer changes by itself."""
HEAPS = 2

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


def keep_the_heap_small() -> None:
    """From now on large buffers get pages of their own in this process, and give them back when they are
    freed; and threads share heaps.

    Each read costs a few system calls more for it, which is little beside the request that it is part of.
    Allocators other than glibc's have no such setting, and nothing is done.
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, OWN_PAGES_FROM_BYTES)
        mallopt(_M_ARENA_MAX, HEAPS)
