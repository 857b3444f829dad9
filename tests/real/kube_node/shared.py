"""One cluster with real nodes for all processes that test; see tests/real/kube/shared.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import json

from tests.real.kube.shared import keep, kept
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.node_cluster import NodeCluster
from tests.real.kube_node.parts import parts

KEEPER = "tests.real.kube_node.shared"


@contextmanager
def shared_nodes(folder: Path) -> Iterator[NodesAccess]:
    """All who name the same folder share one."""
    parts()  # Whoever is missing something hears of it here.
    with kept(folder, KEEPER) as found:
        yield json.decode(found, type=NodesAccess)


if __name__ == "__main__":
    with NodeCluster() as cluster:
        keep(Path(sys.argv[1]), KEEPER, json.encode(cluster.access))
