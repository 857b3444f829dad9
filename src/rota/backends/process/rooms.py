"""Folders for tasks: one to work in, one for temporary files.

    rooms/NUMBER/work    where the task runs, unless its run names a directory
    rooms/NUMBER/tmp     its TMPDIR
    rooms/NUMBER/…       its script and host file, and what is being staged

Removing a folder can take milliseconds where making one takes microseconds. A room that a task left
as it found it, as short tasks mostly do, is given to the next.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

_MODE = 0o700
_LONG_NS = 50_000_000
"""Longer than the steps in which the kernel notes when something was changed."""


class Room:
    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.path = folder / str(number)
        self.work = self.path / "work"
        self.tmp = self.path / "tmp"
        self.script = self.path / "script"
        self.hosts = self.path / "hosts"
        self.staging = self.path / "staging"
        self._folders = (str(self.path), str(self.work), str(self.tmp))
        self._changed_ns: list[int] | None = None
        """When each of its folders was last changed, once it was found as made and looked at long after."""

    def is_as_made(self) -> bool:
        try:
            looks = [os.lstat(folder) for folder in self._folders]
            changed_ns = [look.st_ctime_ns for look in looks]
            # No folder gets, loses or gives away anything without its kernel noting the time.
            if changed_ns == self._changed_ns:
                return True
            if not (all(map(_is_private, looks)) and self._is_empty()):
                return False
        except OSError:
            return False
        # A change that came right after would bear the same time.
        is_long_ago = time.time_ns() - max(changed_ns) > _LONG_NS
        self._changed_ns = changed_ns if is_long_ago else None
        return True

    def _is_empty(self) -> bool:
        path, work, tmp = map(os.listdir, self._folders)
        return sorted(path) == ["tmp", "work"] and not work and not tmp

    def remove(self) -> None:
        """Whatever a task has made of it."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.path, onerror=_make_removable)


class Rooms:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free: list[Room] = []
        self._highest = max((room.number for room in self.existing()), default=-1)

    def existing(self) -> list[Room]:
        return [Room(self._folder, int(name)) for name in os.listdir(self._folder) if name.isdecimal()]

    def of(self, number: int) -> Room:
        return Room(self._folder, number)

    def take(self) -> Room:
        if self._free:
            return self._free.pop()
        self._highest += 1
        room = Room(self._folder, self._highest)
        for path in (room.path, room.work, room.tmp):
            os.mkdir(path, _MODE)
        return room

    def give_back(self, room: Room) -> bool:
        """False: it isn't fit for another task, and has to be removed."""
        if not room.is_as_made():
            return False
        self._free.append(room)
        return True


def _is_private(status: os.stat_result) -> bool:
    return S_IMODE(status.st_mode) == _MODE and status.st_uid == os.geteuid()


def _make_removable(function: object, path: str, error: object) -> None:
    """A task may have taken the rights to its own folders away."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), _MODE)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, _MODE)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
