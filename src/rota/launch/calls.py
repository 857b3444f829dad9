"""System calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

_CAPABILITY_VERSION_3 = 0x20080522

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_MOUNT_SETATTR = 442
_MOUNT_ATTR_RDONLY = 1
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, argument: int = 0) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        raise _error()


def drop_bounding_set() -> None:
    """No program that is executed from here on can have a capability, whatever its file says."""
    # Who has no right to this can't: no_new_privs does the same for them.
    with suppress(OSError):
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)


def drop_capabilities() -> None:
    """All that we have, for good."""
    prctl(PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    head = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)
    if _libc.capset(head, bytes(24)) != 0:
        raise _error()


def fork(namespaces: int = 0) -> int:
    """As os.fork, in namespaces of its own if some are named. Only for a process of one thread: what modules
    want to do after a fork isn't done, which would take as long as the fork itself."""
    number = _SYS_CLONE.get(os.uname().machine)
    if number is None and not namespaces:
        return os.fork()
    if number is None:
        raise OSError(errno.ENOSYS, f"sandboxes aren't known on {os.uname().machine}")
    # PyDLL keeps the interpreter's lock: in the child, nobody could give it back.
    pid = int(ctypes.PyDLL(None, use_errno=True).syscall(number, namespaces | signal.SIGCHLD, 0, 0, 0, 0))
    if pid < 0:
        raise _error()
    return pid


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    if _libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None) != 0:
        raise _error(target)


def make_read_only(path: str) -> None:
    """With all that is mounted below it."""
    _change_mounts(path, _MOUNT_ATTR_RDONLY, 0, _AT_RECURSIVE)


def make_writable(path: str) -> None:
    _change_mounts(path, 0, _MOUNT_ATTR_RDONLY, 0)


def _change_mounts(path: str, added: int, cleared: int, flags: int) -> None:
    attributes = struct.pack("<QQQQ", added, cleared, 0, 0)
    number = ctypes.c_long(_SYS_MOUNT_SETATTR)
    if _libc.syscall(number, _AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes)) != 0:
        raise _error(path)


def _error(path: str | None = None) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)
