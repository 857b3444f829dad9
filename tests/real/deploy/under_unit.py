"""Runs a program under what a unit says of system calls, where there is no systemd that would.

    python under_unit.py UNIT COMMAND...

The groups of SystemCallFilter are those that systemd-analyze knows; namespaces and setgid files are refused
as systemd refuses them (src/shared/seccomp-util.c there).
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser

_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EQUAL, _MASKED_EQUAL = 4, 7
_NAMESPACES = (0x00000080, 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_SETUID, _SETGID = 0o4000, 0o2000
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2, "creat": 1}
"""Which argument is a mode."""
_CREATE = 0o100
_OPENS = {"open": 1, "openat": 2}


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("how", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    def __init__(self) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._filter = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(_ALLOW)))

    def refuse(self, name: str, *where: tuple[int, int, int, int], error: int = errno.EPERM) -> None:
        """`where`: an argument, how it is compared, and with what; all of them must hold."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # Not of this machine's.
        compared = (_Comparison * len(where))(*(_Comparison(*each) for each in where))
        done = self._library.seccomp_rule_add_array(
            self._filter, ctypes.c_uint32(_ERROR | error), number, len(where), compared
        )
        assert done == 0, (name, done)

    def load(self) -> None:
        done = self._library.seccomp_load(self._filter)
        assert done == 0, done


def _has(argument: int, bits: int) -> tuple[int, int, int, int]:
    return argument, _MASKED_EQUAL, bits, bits


def _named(groups: str) -> Iterator[str]:
    for group in groups.split():
        if not group.startswith("@"):
            yield group
            continue
        told = subprocess.check_output(["systemd-analyze", "syscall-filter", group], text=True)
        names = (line.strip() for line in told.splitlines()[1:])
        for name in names:
            if name and not name.startswith("#"):
                yield from _named(name)


def restrict(unit: str) -> None:
    parsed = ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(unit)
    service, refused = parsed["Service"], Filter()
    assert service["SystemCallErrorNumber"] == "EPERM"
    assert service["SystemCallFilter"].startswith("~")
    for name in set(_named(service["SystemCallFilter"].removeprefix("~"))):
        refused.refuse(name)
    if service.get("RestrictNamespaces") == "yes":
        refused.refuse("clone3", error=errno.ENOSYS)
        refused.refuse("setns", (1, _EQUAL, 0, 0))
        for flag in _NAMESPACES:
            refused.refuse("unshare", _has(0, flag))
            refused.refuse("clone", _has(0, flag))
            refused.refuse("setns", _has(1, flag))
    if service.get("RestrictSUIDSGID") == "yes":
        for bits in (_SETUID, _SETGID):
            for name, argument in _MODES.items():
                refused.refuse(name, _has(argument, bits))
            for name, flags in _OPENS.items():
                refused.refuse(name, _has(flags, _CREATE), _has(flags + 1, bits))
    refused.load()


if __name__ == "__main__":
    restrict(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
