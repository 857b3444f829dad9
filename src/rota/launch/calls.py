"""System calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4

_CAPABILITY_VERSION_3 = 0x20080522

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


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
