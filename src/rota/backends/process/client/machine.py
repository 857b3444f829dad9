"""What this machine has: as much of it as this process may use."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

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
) -> Node:
    """`share`: what jobs may have of it, as somebody set it; more than there is if they want it so."""
    own = Path("/proc/self/cgroup").read_text()
    cpu_milli = usable_cpu_milli(Path("/sys/fs/cgroup"), own)
    capacity = Resources(
        cpu_milli=share.cpu_milli or cpu_milli,
        memory_bytes=share.memory_bytes or usable_memory_bytes(Path("/sys/fs/cgroup"), own),
        storage_bytes=shutil.disk_usage(folder).total,
        slots=max(DEFAULT_SLOTS, 4 * cpu_milli // 1000),
    )
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
    amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for group in _groups(mount, own, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):
                amounts.append(int((group / name).read_text()))
    return min(amounts)


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
