"""Which account a task runs as."""

from __future__ import annotations

import os
import pwd
from enum import Enum
from pathlib import Path

import msgspec
from msgspec import Struct

from rota.launch.account import Account

LEAST_UID = 1000
"""Below are the accounts of the system itself."""


class Isolation(Enum):
    NONE = "none"
    """Tasks run as Rota does, and can do all that it can."""
    SANDBOX = "sandbox"
    """They run as Rota does, in namespaces that show them nothing of Rota or of each other."""
    PROJECT = "project"
    """Those of each project have a user id of their own."""
    USER = "user"
    """They run as the account of whoever submitted them."""

    @property
    def needs_rights(self) -> bool:
        return self in (Isolation.PROJECT, Isolation.USER)


class Confinement(Struct, frozen=True, omit_defaults=True):
    """What operators say of it."""

    isolation: Isolation = Isolation.NONE
    uids: tuple[int, int] = (1_900_000_000, 1_900_065_535)
    """For projects: the first and the last."""
    accounts: dict[str, str] = {}
    """The account of a user of another name."""
    rooms: str = ""
    """Where the folders of tasks are; empty: with the rest."""
    hidden: tuple[str, ...] = ()
    """What a sandbox doesn't show, besides Rota's own folder and the home folder."""
    shared: tuple[str, ...] = ()
    """What tasks in sandboxes may write to, besides their own folders."""
    is_wish: bool = False
    """Where there can be no sandbox, tasks run without one, and whoever looks at the node is told so."""


def account_of_user(user: str, accounts: dict[str, str]) -> Account:
    """Raises ValueError. May wait for a directory service: not for the keeper's own thread."""
    name = accounts.get(user, user)
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise ValueError(
            f"user {user!r} has no account on this machine; "
            f"make one named {name!r}, or name another in worker.accounts"
        ) from None
    if entry.pw_uid < LEAST_UID or entry.pw_gid == 0:
        raise ValueError(f"jobs don't run as {name!r} (uid {entry.pw_uid}): that is an account of the system")
    if entry.pw_uid == os.getuid():
        raise ValueError(f"jobs don't run as {name!r}: that is Rota's own account")
    groups = tuple(group for group in os.getgrouplist(name, entry.pw_gid) if group not in (0, entry.pw_gid))
    return Account(entry.pw_uid, entry.pw_gid, groups, name, entry.pw_dir)


class ProjectAccounts:
    """Each project has the next free user id, for ever: files that it left stay its own. The ids are in no
    /etc/passwd."""

    def __init__(self, path: Path, first: int, last: int) -> None:
        """`path`: where it is written down. Raises ValueError if that can't be read."""
        self._path = path
        self._last = last
        try:
            self._uids: dict[str, int] = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
        except FileNotFoundError:
            self._uids = {}
        except msgspec.MsgspecError as error:
            raise ValueError(f"{path}: can't be read: {error}; bring back a copy of it") from None
        self._next = max([first - 1, *self._uids.values()]) + 1

    def of(self, project: str) -> Account:
        """Raises ValueError, and OSError if it can't be written down."""
        uid = self._uids.get(project)
        if uid is None:
            uid = self._allot(project)
        return Account(uid, uid, name=f"rota-{uid}")

    def _allot(self, project: str) -> int:
        uid = self._next
        if uid > self._last:
            raise ValueError("there is no user id left for another project; give more in worker.uids")
        uids = self._uids | {project: uid}
        fresh = self._path.with_suffix(".new")
        with open(fresh, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(msgspec.json.encode(uids))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._uids, self._next = uids, uid + 1
        return uid
