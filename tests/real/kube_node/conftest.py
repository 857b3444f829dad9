"""Two real nodes for all, with a namespace for each; those that break nodes have two of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rota.sdk.errors import Conflict
from tests.real.conftest import missing
from tests.real.kube.control_plane import Missing
from tests.real.kube_node.api import Api, NodesAccess
from tests.real.kube_node.node_cluster import NodeCluster
from tests.real.kube_node.pod_server import SOON_LOST, PodServer
from tests.real.kube_node.shared import nodes_of_session
from tests.real.server.rota_server import eventually


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


NewPodServer = Callable[..., PodServer]


@pytest.fixture(scope="session")
def _pods(nodes: NodesAccess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodServer]:
    made = PodServer(tmp_path_factory.mktemp("pods") / "rota", nodes)
    made.start()
    yield made
    made.remove()


@pytest.fixture
def pods(_pods: PodServer) -> Iterator[PodServer]:
    """A server that many tests use; nothing of theirs is left in the cluster when they are over."""
    yield _pods
    for job in _pods.unfinished():
        with suppress(Conflict):  # It ended by itself meanwhile.
            _pods.client.cancel(job.id)
    eventually(lambda: not any(_pods.unfinished()), "all jobs to end")
    _pods.leaves_nothing()


@pytest.fixture
def new_pods(tmp_path: Path) -> Iterator[NewPodServer]:
    """Makes servers that are the test's alone, started."""
    made: list[PodServer] = []

    def make(nodes: NodesAccess, settings: str = SOON_LOST) -> PodServer:
        server = PodServer(tmp_path / f"rota-{len(made)}", nodes, settings)
        made.append(server)
        server.start()
        return server

    yield make
    for server in made:
        server.remove()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.pods)
