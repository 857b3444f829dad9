"""One control plane for all processes that test: the first starts it, and it ends when the last one has,
however that ended.

Each user holds a shared lock on a file. A process of its own keeps the control plane, and waits for the lock
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


@contextmanager
def shared_cluster(folder: Path) -> Iterator[Cluster]:
    """All who name the same folder share one."""
    programs()  # Building them may take long: whoever is missing something hears of it here.
    with open(folder / "users", "ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield _started(folder)


def _started(folder: Path) -> Cluster:
    known = folder / "cluster.json"
    with open(folder / "starting", "ab") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not known.exists():
            with open(folder / "keeper.log", "ab") as log:
                keeper = subprocess.Popen(
                    [sys.executable, "-m", __spec__.name, str(folder)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            deadline = time.monotonic() + READY_WITHIN_S
            while not known.exists():
                if keeper.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((folder / "keeper.log").read_text())
                time.sleep(0.05)
            # It goes on without us: nobody here waits for its end.
            keeper.returncode = 0
    return json.decode(known.read_bytes(), type=Cluster)


def _keep(folder: Path) -> None:
    known = folder / "cluster.json"
    with ControlPlane() as control_plane, open(folder / "users", "ab") as users:
        new = folder / f"cluster.{os.getpid()}"
        new.write_bytes(json.encode(control_plane.cluster))
        new.rename(known)
        fcntl.flock(users, fcntl.LOCK_EX)
        known.unlink()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
