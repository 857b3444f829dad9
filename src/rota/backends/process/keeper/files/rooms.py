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
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

from rota.launch.account import Account, acting_as

_MODE = 0o700
_FOR_AN_ACCOUNT = 0o710
"""A room's own folder stays the keeper's: its task's group may pass, and nobody else."""
_LONG_NS = 50_000_000
"""Longer than the steps in which the kernel notes when something was changed."""


class Room:
    def __init__(self, folder: Path, number: int, account: Account | None = None) -> None:
        """`account`: whose it is; None: ours."""
        self.number = number
        self.account = account
        self.path = folder / str(number)
        self.work = self.path / "work"
        self.tmp = self.path / "tmp"
        self.script = self.path / "script"
        self.hosts = self.path / "hosts"
        self.staging = self.path / "staging"
        self.end = folder / f"{number}.end"
        """How its task ended, if that was in a sandbox."""
        self._folders = (str(self.path), str(self.work), str(self.tmp))
        self._changed_ns: list[int] | None = None
        """When each of its folders was last changed, once it was found as made and looked at long after."""

    def make(self) -> None:
        os.mkdir(self.path, _MODE)
        for folder in (self.work, self.tmp):
            os.mkdir(folder, _MODE)
            hand_over(folder, self.account)
        if self.account is not None:
            os.chown(self.path, -1, self.account.gid)
            os.chmod(self.path, _FOR_AN_ACCOUNT)

    def is_as_made(self) -> bool:
        try:
            looks = [os.lstat(folder) for folder in self._folders]
            changed_ns = [look.st_ctime_ns for look in looks]
            # No folder gets, loses or gives away anything without its kernel noting the time.
            if changed_ns == self._changed_ns:
                return True
            if not (self._is_private(looks) and self._is_empty()):
                return False
        except OSError:
            return False
        # A change that came right after would bear the same time.
        is_long_ago = time.time_ns() - max(changed_ns) > _LONG_NS
        self._changed_ns = changed_ns if is_long_ago else None
        return True

    def _is_private(self, looks: list[os.stat_result]) -> bool:
        own = os.geteuid()
        theirs, mode = (own, _MODE) if self.account is None else (self.account.uid, _FOR_AN_ACCOUNT)
        found = [(look.st_uid, S_IMODE(look.st_mode)) for look in looks]
        return found == [(own, mode), (theirs, _MODE), (theirs, _MODE)]

    def _is_empty(self) -> bool:
        path, *inside = self._folders
        if sorted(os.listdir(path)) != ["tmp", "work"]:
            return False
        with acting_as(self.account):
            return not any(map(os.listdir, inside))

    def remove(self) -> None:
        """Whatever a task has made of it."""
        owner = _other_owner_of(self.work)
        if owner is not None:
            # What others have made is removed with their rights alone: nothing that isn't theirs can go.
            folders = (self.work, self.tmp, self.staging)
            with acting_as(owner):
                for folder in folders:
                    _empty(folder)
            for folder in folders:
                with suppress(OSError):
                    os.rmdir(folder)
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):
                shutil.rmtree(self.path, onerror=_make_removable)
        self.end.unlink(missing_ok=True)


class Rooms:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free: dict[int | None, list[Room]] = defaultdict(list)
        """By the user id of whoever had them: nobody else gets them."""
        self._highest = max((room.number for room in self.existing()), default=-1)

    def existing(self) -> list[Room]:
        return [Room(self._folder, int(name)) for name in os.listdir(self._folder) if name.isdecimal()]

    def of(self, number: int, account: Account | None = None) -> Room:
        return Room(self._folder, number, account)

    def take(self, account: Account | None = None) -> Room:
        if free := self._free[_id_of(account)]:
            return free.pop()
        self._highest += 1
        room = Room(self._folder, self._highest, account)
        room.make()
        return room

    def give_back(self, room: Room) -> bool:
        """False: it isn't fit for another task, and has to be removed."""
        if not room.is_as_made():
            return False
        self._free[_id_of(room.account)].append(room)
        return True


def hand_over(path: Path, account: Account | None) -> None:
    """A folder of ours that is to be theirs."""
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _id_of(account: Account | None) -> int | None:
    return None if account is None else account.uid


def _other_owner_of(folder: Path) -> Account | None:
    """None: we are, or it is gone."""
    try:
        look = os.lstat(folder)
    except OSError:
        return None
    return None if look.st_uid in (0, os.geteuid()) else Account(look.st_uid, look.st_gid)


def _empty(folder: Path) -> None:
    try:
        os.chmod(folder, _MODE)
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, onerror=_make_removable)
        else:
            with suppress(OSError):
                os.unlink(entry.path)


def _make_removable(function: object, path: str, error: object) -> None:
    """A task may have taken the rights to its own folders away."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), _MODE)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, _MODE)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
