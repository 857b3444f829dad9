"""One of something costly for all processes that test: the first starts it, and it ends when the last one
has, however that ended. Here, a control plane.

Each user holds a shared lock on a file. A process of its own keeps the thing, and waits for the lock
for itself alone: when it gets that, nobody is left.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import json

from tests.real.kube.cluster import Cluster
from tests.real.kube.control_plane import READY_WITHIN_S, ControlPlane, programs

ROOT = Path(__file__).parents[3]
_KEEPER = "tests.real.kube.shared"


@contextmanager
def shared_cluster(folder: Path) -> Iterator[Cluster]:
    """All who name the same folder share one."""
    programs()  # Building them may take long: whoever is missing something hears of it here.
    with kept(folder, _KEEPER) as found:
        yield json.decode(found, type=Cluster)


@contextmanager
def kept(folder: Path, keeper: str) -> Iterator[bytes]:
    """What the module `keeper` says about the thing that it keeps: run as a program, it calls `keep`."""
    with open(folder / f"{keeper}.users", "ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield _started(folder, keeper)


def keep(folder: Path, keeper: str, told: bytes) -> None:
    """Returns when there is no user left."""
    known = folder / f"{keeper}.told"
    with open(folder / f"{keeper}.users", "ab") as users:
        new = folder / f"{keeper}.{os.getpid()}"
        new.write_bytes(told)
        new.rename(known)
        fcntl.flock(users, fcntl.LOCK_EX)
        known.unlink()


def _started(folder: Path, keeper: str) -> bytes:
    known = folder / f"{keeper}.told"
    said = folder / f"{keeper}.log"
    with open(folder / f"{keeper}.starting", "ab") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not known.exists():
            with open(said, "ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", keeper, str(folder)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            deadline = time.monotonic() + 2 * READY_WITHIN_S
            while not known.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(said.read_text())
                time.sleep(0.05)
            # It goes on without us: nobody here waits for its end.
            process.returncode = 0
    return known.read_bytes()


if __name__ == "__main__":
    with ControlPlane() as control_plane:
        keep(Path(sys.argv[1]), _KEEPER, json.encode(control_plane.cluster))
