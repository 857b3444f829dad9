"""Which machine this is, and which file systems it has in common with others.

A worker says so of itself in labels; whoever submits from a folder asks for a node with the label of that
folder's machine, or of the network file system that the folder is on.

    /home/ada on nfs:/home   ──►  rota/mount-3f0c…=shared    every node that has it mounted there, too
    /tmp/x on a disk         ──►  rota/machine=91b2…         this machine alone
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rota.model.node import MACHINE, MOUNT

SHARED = "shared"
MOST_MOUNTS = 64
"""Labels of one node: a machine that mounts far more names the first by their folders."""

_OF_THE_NETWORK = frozenset(
    [
        "afs",
        "beegfs",
        "beegfs_nodev",
        "ceph",
        "cifs",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "wekafs",
    ]
)
_ON_DEMAND = "autofs"


class Mount(NamedTuple):
    id: int
    parent: int
    folder: str
    kind: str
    source: str

    @property
    def is_of_the_network(self) -> bool:
        """`host:/path` and `//host/share` name another machine, whatever the kind is called."""
        if self.kind in _OF_THE_NETWORK or self.source.startswith("//"):
            return True
        return ":" in self.source and not self.source.startswith("/")


def node_labels(root: Path = Path("/")) -> dict[str, str]:
    """What a worker says of the machine that it is on. `root`: of the machine, for tests."""
    mounts = read_mounts(root)
    names = sorted({_name(one) for one in mounts if _stands_for_itself(one, mounts)})
    return {MACHINE: machine_id(root), **dict.fromkeys(names[:MOST_MOUNTS], SHARED)}


def folder_label(folder: str, root: Path = Path("/")) -> tuple[str, str]:
    """The label of all nodes that have the folder."""
    mounts = read_mounts(root)
    mount = _mount_of(folder, mounts)
    if mount is not None:
        above = next((one for one in _parents(mount, mounts) if one.kind == _ON_DEMAND), None)
        if mount.is_of_the_network or mount.kind == _ON_DEMAND:
            return _name(above or mount), SHARED
    return MACHINE, machine_id(root)


def machine_id(root: Path = Path("/")) -> str:
    """Of this machine as processes here see it: containers are machines of their own. It outlives a reboot
    where the machine has an id, and doesn't tell that id."""
    own = _text(root / "etc/machine-id")
    look = os.stat(root)
    parts = [own, platform.node(), str(look.st_ino)]
    if not own:
        parts += [_text(root / "proc/sys/kernel/random/boot_id"), str(look.st_dev)]
    return _digest(parts)


def read_mounts(root: Path = Path("/")) -> list[Mount]:
    """Empty where the system doesn't say."""
    return list(_mounts(_text(root / "proc/self/mountinfo")))


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        with suppress(ValueError):
            number, parent, _, _, folder, *_ = before.split(" ")
            kind, source, *_ = after.split(" ")
            yield Mount(int(number), int(parent), _unescaped(folder), kind, _unescaped(source))


def _unescaped(text: str) -> str:
    """The kernel writes spaces, tabs, newlines and backslashes in octal."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def _mount_of(folder: str, mounts: Sequence[Mount]) -> Mount | None:
    """Of several on the same folder, the last one hides the others."""
    above = [one for one in mounts if one.folder == "/" or f"{folder}/".startswith(f"{one.folder}/")]
    return max(reversed(above), key=lambda one: len(one.folder), default=None)


def _stands_for_itself(mount: Mount, mounts: Sequence[Mount]) -> bool:
    """What is mounted on demand comes and goes; the place where it is mounted stays."""
    if mount.kind == _ON_DEMAND:
        return True
    return mount.is_of_the_network and all(one.kind != _ON_DEMAND for one in _parents(mount, mounts))


def _parents(mount: Mount, mounts: Sequence[Mount]) -> Iterator[Mount]:
    by_id = {one.id: one for one in mounts}
    seen = {mount.id}
    parent = by_id.get(mount.parent)
    while parent is not None and parent.id not in seen:
        yield parent
        seen.add(parent.id)
        parent = by_id.get(parent.parent)


def _name(mount: Mount) -> str:
    return f"{MOUNT}{_digest((mount.source, mount.folder))}"


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(("rota", *parts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return ""
