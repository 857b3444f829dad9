"""Two real nodes for all, with a namespace for each; those that break nodes have two of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.conftest import missing
from tests.real.kube.control_plane import Missing
from tests.real.kube_node.api import Api, NodesAccess
from tests.real.kube_node.node_cluster import NodeCluster
from tests.real.kube_node.shared import nodes_of_session


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[NodesAccess]:
    with nodes_of_session(tmp_path_factory, worker_id) as found:
        yield found


@pytest.fixture(scope="session")
def breakable_nodes() -> Iterator[NodeCluster]:
    """To be stopped and started by tests, which leave them running."""
    try:
        cluster = NodeCluster()
    except Missing as error:
        missing(str(error))
    with cluster:
        yield cluster


@pytest.fixture
def api(nodes: NodesAccess) -> Api:
    return nodes.api


@pytest.fixture
def namespace(api: Api) -> str:
    return api.new_namespace()
