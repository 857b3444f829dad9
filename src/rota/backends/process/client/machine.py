"""What this machine has: as much of it as this process may use."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rota.backends.process.client.memory_use import in_steps, memory_use, taken_by_others
from rota.machine_facts import node_labels
from rota.model.ids import NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import DEFAULT_SLOTS, Resources

ALL = Resources()


def this_machine(
    name: NodeName,
    backend: str,
    folder: Path,
    gpus: Gpus,
    share: Resources = ALL,
    price_micro_per_hour: int = 0,
    memory_margin_bytes: int = 0,
    keeper: int | None = None,
) -> Node:
    """`share`: what jobs may have of it, as somebody set it; more than there is if they want it so.
    `memory_margin_bytes`: as of `taken_by_others`. `keeper`: the process that tasks descend from."""
    own = Path("/proc/self/cgroup").read_text()
    cpu_milli = usable_cpu_milli(Path("/sys/fs/cgroup"), own)
    total_bytes, group = usable_memory(Path("/sys/fs/cgroup"), own)
    capacity = Resources(
        cpu_milli=share.cpu_milli or cpu_milli,
        memory_bytes=share.memory_bytes or total_bytes,
        storage_bytes=shutil.disk_usage(folder).total,
        slots=max(DEFAULT_SLOTS, 4 * cpu_milli // 1000),
    )
    use = memory_use(Path("/proc"), keeper, group)
    others = taken_by_others(use, total_bytes, capacity.memory_bytes, memory_margin_bytes)
    labels = {
        "arch": platform.machine(),
        "host": str(name),
        "os": platform.system().lower(),
        **node_labels(),
    }
    return Node(
        name,
        NodeSpec(
            capacity,
            gpus,
            backend=backend,
            labels=tuple(labels.items()),
            price_micro_per_hour=price_micro_per_hour,
        ),
        load_milli=load_milli(Path("/proc/loadavg").read_text(), cpu_milli),
        memory_used_bytes=in_steps(use.used_bytes, capacity.memory_bytes),
        memory_others_bytes=in_steps(others, capacity.memory_bytes),
    )


def load_milli(loadavg: str, cpu_milli: int) -> int:
    """Of the last minute, against the cpus that may be used."""
    return min(1000, int(float(loadavg.split()[0]) * 1_000_000 / max(1, cpu_milli)))


def usable_cpu_milli(mount: Path, own: str) -> int:
    """By affinity, and by the tightest quota of the groups that this process is in."""
    amounts = [1000 * len(os.sched_getaffinity(0))]
    for group in _groups(mount, own, "cpu"):
        with suppress(OSError, ValueError, IndexError):
            quota, period = (group / "cpu.max").read_text().split()
            amounts.append(int(quota) * 1000 // int(period))
        with suppress(OSError, ValueError):
            quota_us = int((group / "cpu.cfs_quota_us").read_text())
            if quota_us > 0:
                amounts.append(quota_us * 1000 // int((group / "cpu.cfs_period_us").read_text()))
    return max(1, min(amounts))


def usable_memory_bytes(mount: Path, own: str) -> int:
    return usable_memory(mount, own)[0]


def usable_memory(mount: Path, own: str) -> tuple[int, Path | None]:
    """How much, and the control group that allows no more; None: the machine has no more."""
    least, tightest = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
    for group in _groups(mount, own, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):
                amount = int((group / name).read_text())
                if amount < least:
                    least, tightest = amount, group
    return least, tightest


def _groups(mount: Path, own: str, controller: str) -> Iterable[Path]:
    """The group that a process is in and all above it, in both versions of cgroups."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root = mount
        elif controller in controllers.split(","):
            root = mount / controllers
            root = root if root.is_dir() else mount / controller
        else:
            continue
        place = root / path.lstrip("/")
        while place != root and root in place.parents:
            yield place
            place = place.parent
        yield root
