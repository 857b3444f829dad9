"""What a cluster with real nodes leaves on this machine: nothing, however it ended."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import json

from tests.kit.waiting import wait_until
from tests.real.conftest import missing
from tests.real.kube.control_plane import Missing, dying_with_us
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.node_cluster import sweep
from tests.real.kube_node.parts import parts
from tests.real.kube_node.shared import KEEPER

pytestmark = pytest.mark.slow

STARTED_WITHIN_S = 240.0


def traces(bridge: str) -> list[str]:
    """Of it and its nodes, among what this machine has."""
    found = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{bridge}-*")]
    found += [str(path) for path in Path("/sys/class/net").glob(bridge)]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if bridge in line]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found += [" ".join(words)] if any(bridge in word for word in words) else []
    return found


def test_one_that_was_killed_is_cleared_away(tmp_path: Path) -> None:
    try:
        parts()
    except Missing as error:
        missing(str(error))
    with (tmp_path / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [*dying_with_us(), sys.executable, "-m", KEEPER, str(tmp_path)], stdout=log, stderr=log
        )
    told = tmp_path / f"{KEEPER}.told"
    # Held, or it ends by itself.
    held = os.open(tmp_path / f"{KEEPER}.users", os.O_CREAT | os.O_WRONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        wait_until(lambda: told.exists() or keeper.poll() is not None, STARTED_WITHIN_S)
        access = json.decode(told.read_bytes(), type=NodesAccess)
        namespace = access.api.new_namespace()
        access.api.create_pod(namespace, "runs", "sleep 600")
        access.api.running(namespace, "runs")
        bridge = access.nodes[0].rpartition("-")[0]
        assert traces(bridge)
    finally:
        keeper.send_signal(signal.SIGKILL)
        keeper.wait()
        os.close(held)
    sweep()
    wait_until(lambda: not traces(bridge))
