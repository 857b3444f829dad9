"""What of this machine's memory is in use: by tasks, and by everything else.

Tasks are given what they ask for, whether they use it yet or not. So what counts against a machine is only
what others use: the memory in use, less what the processes of tasks have.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STEPS = 64
"""Each change of a node is looked at by the whole scheduler: smaller ones than this part aren't worth it."""
_MARGIN_PART = 10
"""By default others may have a tenth."""


class MemoryUse(Struct, frozen=True):
    used_bytes: int
    of_tasks_bytes: int = 0


def memory_use(proc: Path, keeper: int | None, group: Path | None = None) -> MemoryUse:
    """`keeper`: the process that tasks descend from. `group`: the control group that this machine is, where
    it is a part of a larger one."""
    used = _used_in_group(group) if group is not None else None
    if used is None:
        used = _used_by_all((proc / "meminfo").read_text())
    return MemoryUse(used, 0 if keeper is None else tree_bytes(proc, keeper))


def taken_by_others(use: MemoryUse, total: int, capacity: int, margin: int = 0) -> int:
    """What others take of the `capacity` that tasks may have of `total`; nothing up to the margin, and all if
    they leave less than the margin. 0: a tenth of the capacity.

    The system itself always uses some: a task that asks for all of a machine is still to start there."""
    margin = margin or capacity // _MARGIN_PART
    others = use.used_bytes - use.of_tasks_bytes - max(0, total - capacity)
    if others <= margin:
        return 0
    return capacity if capacity - others < margin else others


def in_steps(amount: int, capacity: int) -> int:
    """Rounded up."""
    step = max(1 << 20, capacity // _STEPS)
    return -(-amount // step) * step


def tree_bytes(proc: Path, root: int) -> int:
    """What a process's descendants have in memory, itself left out. Pages that they share count for each."""
    pages: dict[int, int] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        # Processes end while others are looked at.
        with suppress(OSError, ValueError, IndexError):
            # The name, in brackets, may contain anything.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            pid = int(folder.name)
            children[int(fields[1])].append(pid)
            pages[pid] = int(fields[21])
    below, found = list(children[root]), 0
    while below:
        pid = below.pop()
        found += max(0, pages[pid])
        below += children.pop(pid, ())
    return found * PAGE_BYTES


def _used_by_all(meminfo: str) -> int:
    amounts = {}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable"):
            amounts[name] = 1024 * int(rest.split()[0])
    return max(0, amounts["MemTotal"] - amounts["MemAvailable"])


def _used_in_group(group: Path) -> int | None:
    """Without files that are only kept in case somebody reads them again."""
    for current, inactive in (
        ("memory.current", "inactive_file"),
        ("memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, ValueError):
            used = int((group / current).read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return max(0, used - int(stat.get(inactive, 0)))
    return None
