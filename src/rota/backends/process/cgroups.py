"""Holds tasks to their limits of cpu and memory, where the host allows it.

Groups of tasks are made inside of the group that the keeper is in, so that whatever limits the
keeper limits them as well. Both versions are spoken: one unified hierarchy (2), or one for cpu and
one for memory (1).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rota.model.resources import Resources

_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_CONTROLLERS = ("cpu", "memory")


class Mount(Struct, frozen=True):
    """Of one hierarchy, or of the unified one: no controllers named."""

    path: Path
    root: str
    controllers: frozenset[str]


class Group:
    """Of one task: a folder in each hierarchy."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for path in self.paths:
            with suppress(OSError):
                found.update(map(int, Path(path, "cgroup.procs").read_text().split()))
        return found

    def ran_out_of_memory(self) -> bool:
        return any(
            _counter(Path(path, name), "oom_kill") > 0
            for path in self.paths
            for name in ("memory.oom_control", "memory.events")
        )

    def max_memory_bytes(self) -> int:
        for path in self.paths:
            for name in ("memory.max_usage_in_bytes", "memory.peak"):
                with suppress(OSError, ValueError):
                    return int(Path(path, name).read_text())
        return 0

    def remove(self) -> None:
        """Once all its processes are gone."""
        for path in self.paths:
            with suppress(OSError):
                os.rmdir(path)


class Cgroups:
    def __init__(self, bases: Sequence[Path], version: int, lacking: Sequence[str]) -> None:
        self._bases = tuple(bases)
        self._version = version
        self.lacking = tuple(lacking)
        """What this host can't do, and why."""

    def make(self, name: str, limits: Resources) -> Group | None:
        """None: it has no limits, or the host can't hold it to them. Raises OSError."""
        if not self._bases or not (limits.cpu_milli or limits.memory_bytes):
            return None
        group = Group([str(base / name) for base in self._bases])
        try:
            for path in map(Path, group.paths):
                path.mkdir(exist_ok=True)
                for file, value in _settings(self._version, limits):
                    with suppress(FileNotFoundError):
                        _write(path / file, value)
        except OSError:
            group.remove()
            raise
        return group

    def remove_empty(self) -> None:
        """Groups that another keeper left behind; those with processes in them stay."""
        for base in self._bases:
            for group in base.iterdir():
                if group.is_dir():
                    Group([str(group)]).remove()

    def remove(self) -> None:
        for base in self._bases:
            with suppress(OSError):
                os.rmdir(base)


def find_cgroups(name: str, *, mountinfo: str, own: str) -> Cgroups:
    """`name`: of the group that those of all tasks are made in. The two texts: as in /proc/self."""
    mounts = _mounts(mountinfo)
    places = _places(own)
    bases, lacking = [], []
    for controller in _CONTROLLERS:
        mount = next((each for each in mounts if controller in each.controllers), None)
        if mount is None:
            continue
        base = _inside(mount, places.get(controller, "/")) / name
        try:
            base.mkdir(exist_ok=True)
        except OSError as error:
            lacking.append(f"no {controller} limits: {base}: {error.strerror}")
        else:
            bases.append(base)
    if bases or lacking:
        return Cgroups(list(dict.fromkeys(bases)), 1, lacking)
    unified = next((each for each in mounts if not each.controllers), None)
    if unified is None:
        return Cgroups((), 0, ["no cpu and memory limits: cgroups aren't mounted"])
    return _find_unified(_inside(unified, places.get("", "/")), name)


def _find_unified(own: Path, name: str) -> Cgroups:
    """In one's own group, or beside it: a group with processes of its own can't hand controllers on."""
    wanted = " ".join(f"+{controller}" for controller in _CONTROLLERS)
    reason = ""
    for place in (own, own.parent):
        base = place / name
        try:
            _write(place / "cgroup.subtree_control", wanted)
            base.mkdir(exist_ok=True)
            _write(base / "cgroup.subtree_control", wanted)
        except OSError as error:
            reason = f"{place}: {error.strerror}"
            with suppress(OSError):
                base.rmdir()
        else:
            return Cgroups([base], 2, ())
    return Cgroups(
        (), 2, [f"no cpu and memory limits: {reason}; a systemd unit with Delegate=yes allows them"]
    )


def _settings(version: int, limits: Resources) -> list[tuple[str, str]]:
    """Files that a hierarchy doesn't have are left out by the caller."""
    settings: list[tuple[str, str]] = []
    if limits.cpu_milli:
        quota_us = max(_LEAST_QUOTA_US, limits.cpu_milli * _PERIOD_US // 1000)
        if version == 1:
            settings += [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota_us))]
        else:
            settings += [("cpu.max", f"{quota_us} {_PERIOD_US}")]
    if limits.memory_bytes:
        memory = str(limits.memory_bytes)
        if version == 1:
            settings += [("memory.limit_in_bytes", memory), ("memory.memsw.limit_in_bytes", memory)]
        else:
            settings += [("memory.max", memory), ("memory.swap.max", "0")]
    return settings


def _mounts(mountinfo: str) -> list[Mount]:
    mounts = []
    for line in mountinfo.splitlines():
        fields, _, filesystem = line.partition(" - ")
        kind, _, options = filesystem.split(" ", 2)
        _, _, _, root, path, *_ = fields.split(" ")
        controllers = frozenset(options.split(",")) & set(_CONTROLLERS)
        if kind == "cgroup2" or (kind == "cgroup" and controllers):
            mounts.append(Mount(Path(path), root, controllers if kind == "cgroup" else frozenset()))
    return mounts


def _places(own: str) -> dict[str, str]:
    """In which group this process is, by controller; of the unified hierarchy: by ""."""
    places: dict[str, str] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            places[controller] = path
    return places


def _inside(mount: Mount, place: str) -> Path:
    """A container may see only a part of the hierarchy."""
    inside = place.removeprefix(mount.root) if mount.root != "/" else place
    return mount.path / inside.lstrip("/")


def _counter(path: Path, name: str) -> int:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _write(path: Path, value: str) -> None:
    """Never makes the file: where there is none, the kernel doesn't know the setting."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
