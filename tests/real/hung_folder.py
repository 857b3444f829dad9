"""A folder on a file system that doesn't answer, as a network one whose server is gone: FUSE without anybody
who serves it."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.conftest import missing

_INIT = 26
_REQUEST = struct.Struct("<IIQQIIII")
_ANSWER = struct.Struct("<IiQ")
_INIT_ANSWER = struct.pack("<IIIIHHII", 7, 31, 1 << 16, 0, 16, 12, 1 << 16, 1)
_LAZILY = 2
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def hung_folder(path: Path) -> Iterator[threading.Event]:
    """Whoever looks inside waits in the kernel, and can't even be killed. The event: somebody does."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        missing("only root can mount FUSE, by /dev/fuse")
    path.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
    if _libc.mount(b"hung", os.fsencode(path), b"fuse", 0, options) != 0:
        os.close(device)
        missing(f"FUSE can't be mounted here: {os.strerror(ctypes.get_errno())}")
    waiting = threading.Event()
    reader = threading.Thread(target=_take_and_never_answer, args=(device, waiting), daemon=True)
    reader.start()
    try:
        yield waiting
    finally:
        # With the mount goes the connection: whoever waits gets an error.
        _abort(path)
        _libc.umount2(os.fsencode(path), _LAZILY)
        reader.join(10)
        os.close(device)


def _take_and_never_answer(device: int, waiting: threading.Event) -> None:
    """A request that was taken can't be called back."""
    try:
        while True:
            _, opcode, unique, *_ = _REQUEST.unpack_from(os.read(device, 1 << 17))
            if opcode == _INIT:
                body = struct.pack("<IIIIHHIIHHI", 7, 31, 1 << 16, 0, 16, 12, 1 << 16, 1, 32, 0, 0) + bytes(
                    28
                )
                os.write(device, _ANSWER.pack(_ANSWER.size + len(body), 0, unique) + body)
            else:
                waiting.set()
    except OSError:
        return


def _abort(path: Path) -> None:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4] == str(path):
            minor = fields[2].partition(":")[2]
            connections = Path("/sys/fs/fuse/connections")
            if not (connections / minor).exists():
                _libc.mount(b"fusectl", os.fsencode(connections), b"fusectl", 0, None)
            (connections / minor / "abort").write_text("1")
