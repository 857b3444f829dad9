"""One cluster with real nodes for all processes that test; see tests/real/kube/shared.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import json

from tests.real.conftest import missing
from tests.real.kube.control_plane import Missing
from tests.real.kube.shared import keep, kept
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.node_cluster import NodeCluster
from tests.real.kube_node.parts import parts

KEEPER = "tests.real.kube_node.shared"


@contextmanager
def nodes_of_session(folders: pytest.TempPathFactory, worker_id: str) -> Iterator[NodesAccess]:
    """For all workers of a run. Where they can't be had, the test is skipped, or fails where CI=true."""
    folder = folders.getbasetemp()
    try:
        with shared_nodes(folder if worker_id == "master" else folder.parent) as found:
            yield found
    except Missing as error:
        missing(str(error))


@contextmanager
def shared_nodes(folder: Path) -> Iterator[NodesAccess]:
    """All who name the same folder share one."""
    parts()  # Whoever is missing something hears of it here.
    with kept(folder, KEEPER) as found:
        yield json.decode(found, type=NodesAccess)


if __name__ == "__main__":
    with NodeCluster() as cluster:
        keep(Path(sys.argv[1]), KEEPER, json.encode(cluster.access))
