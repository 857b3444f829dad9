"""The Unix account that a task runs as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from msgspec import Struct


class Account(Struct, frozen=True, array_like=True):
    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    """Besides `gid`."""
    name: str = ""
    home: str = ""
    """Empty: the task's own folder."""

    def __post_init__(self) -> None:
        if self.uid <= 0 or self.gid <= 0 or 0 in self.groups:
            raise ValueError("a task never runs as root, nor in root's group")


_NEEDED = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7
"""CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID: no more is needed to start tasks as others."""


@cache
def has_rights() -> bool:
    """Whether this process may start others as other accounts, signal them, and hand folders over to them."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & _NEEDED == _NEEDED
    return False


@contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """Files are opened, made and removed with the account's rights and no others. None: as ourselves.

    Only the effective ids change. So the account's own processes can neither signal nor trace this one."""
    if account is None:
        yield
        return
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    os.setgroups(account.groups)
    os.setegid(account.gid)
    os.seteuid(account.uid)
    try:
        yield
    finally:
        os.seteuid(uid)
        os.setegid(gid)
        os.setgroups(groups)


def become(account: Account) -> None:
    """For good."""
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
