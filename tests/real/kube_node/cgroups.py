"""A node's own branch of the control groups, under which its pods are limited."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

_TOP = Path("/sys/fs/cgroup")
GONE_WITHIN_S = 30


def make(name: str) -> None:
    for top in _tops():
        (top / name).mkdir(exist_ok=True)
        if top.name == "cpuset":
            # A new one has no CPU at all, and nothing can be put into it.
            for what in ("cpuset.cpus", "cpuset.mems"):
                (top / name / what).write_text((top / what).read_text())


def remove(name: str) -> None:
    """Nothing runs in it any more; the kernel may need a moment to see that."""
    deadline = time.monotonic() + GONE_WITHIN_S
    for top in _tops():
        while (top / name).exists():
            for folder in sorted((top / name).rglob("*/"), reverse=True):
                _try_to_remove(folder)
            if not _try_to_remove(top / name):
                assert time.monotonic() < deadline, f"{top / name} can't be removed"
                time.sleep(0.05)


def _tops() -> Iterator[Path]:
    """One of version 2; of version 1, one a controller."""
    if (_TOP / "cgroup.controllers").exists():
        yield _TOP
    else:
        # Several names may lead to one.
        yield from sorted({top.resolve() for top in _TOP.iterdir() if (top / "cgroup.procs").exists()})


def _try_to_remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
