"""Finds where on this host the groups of tasks can be made, and what it can't limit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rota.backends.process.keeper.cgroups.groups import Cgroups
from rota.backends.process.keeper.cgroups.kernel_files import read_file, write_file
from rota.backends.process.options import MOST_PROCESSES

_CONTROLLERS = ("memory", "pids", "cpu")
_LACKING = {"memory": "no memory limits", "pids": "no limit of processes", "cpu": "no cpu limits"}


class Mount(Struct, frozen=True):
    """Of one hierarchy, or of the unified one: no controllers named."""

    path: Path
    root: str
    controllers: frozenset[str]


def find_cgroups(name: str, *, mountinfo: str, own: str, most_processes: int = MOST_PROCESSES) -> Cgroups:
    """`name`: of the group that those of all tasks are made in. The two texts: as in /proc/self."""
    mounts = _mounts(mountinfo)
    places = _places(own)
    if not any(mount.controllers for mount in mounts):
        unified = next(iter(mounts), None)
        if unified is None:
            return Cgroups((), 0, ["no limits of memory, processes and cpu: cgroups aren't mounted"])
        return _find_unified(_inside(unified, places.get("", "/")), name, most_processes)
    bases, lacking = [], []
    for controller in _CONTROLLERS:
        mount = next((each for each in mounts if controller in each.controllers), None)
        if mount is None:
            lacking.append(f"{_LACKING[controller]}: the cgroup controller {controller!r} isn't mounted")
            continue
        base = _inside(mount, places.get(controller, "/")) / name
        try:
            base.mkdir(exist_ok=True)
        except OSError as error:
            lacking.append(f"{_LACKING[controller]}: {base}: {error.strerror}")
        else:
            bases.append(base)
    return Cgroups(list(dict.fromkeys(bases)), 1, lacking, most_processes)


def _find_unified(own: Path, name: str, most_processes: int) -> Cgroups:
    """In one's own group, or beside it: a group with processes of its own can't hand controllers on."""
    reason = ""
    for place in (own, own.parent):
        base = place / name
        try:
            there = _controllers(place)
            wanted = " ".join(f"+{controller}" for controller in _CONTROLLERS if controller in there)
            write_file(f"{place}/cgroup.subtree_control", wanted)
            base.mkdir(exist_ok=True)
            write_file(f"{base}/cgroup.subtree_control", wanted)
        except OSError as error:
            reason = f"{place}: {error.strerror}"
            with suppress(OSError):
                base.rmdir()
        else:
            lacking = [
                f"{_LACKING[controller]}: {place} has no cgroup controller {controller!r}"
                for controller in _CONTROLLERS
                if controller not in there
            ]
            return Cgroups([base], 2, lacking, most_processes)
    says = f"no limits of memory, processes and cpu: {reason}; a systemd unit with Delegate=yes allows them"
    return Cgroups((), 2, [says])


def _controllers(place: Path) -> list[str]:
    """Those that it can hand on."""
    there = read_file(f"{place}/cgroup.controllers").split()
    if not set(there) & set(_CONTROLLERS):
        raise OSError(0, "it has no controllers")
    return there


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
