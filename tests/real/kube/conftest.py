"""A cluster for all, with a namespace for each; those that break it have a control plane of their own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from rota.kube.api.client import Client
from rota.kube.api.resources import NAMESPACES
from tests.real.conftest import missing
from tests.real.kube.cluster import Cluster
from tests.real.kube.control_plane import ControlPlane, Missing, release
from tests.real.kube.shared import shared_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Cluster]:
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent  # of all workers
    try:
        with shared_cluster(folder) as found:
            yield found
    except Missing as error:
        missing(str(error))


@pytest.fixture(scope="session")
def breakable() -> Iterator[ControlPlane]:
    """To be stopped and started by tests, which leave it running."""
    try:
        control_plane = ControlPlane()
    except Missing as error:
        missing(str(error))
    with control_plane:
        yield control_plane


@pytest.fixture(autouse=True)
def of_release(request: pytest.FixtureRequest) -> None:
    """Skips tests of what the release lacks that is tested with: `@pytest.mark.since("1.28", "why")`."""
    for mark in request.node.iter_markers("since"):
        least, why = mark.args
        try:
            if release() < tuple(map(int, least.split("."))):
                pytest.skip(f"Kubernetes {least}: {why}")
        except Missing as error:
            missing(str(error))


@pytest.fixture
def namespace(cluster: Cluster) -> str:
    return new_namespace(cluster)


def new_namespace(cluster: Cluster) -> str:
    return asyncio.run(created_namespace(cluster))


async def created_namespace(cluster: Cluster) -> str:
    """For tests that are in an event loop already."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    async with Client(cluster.access()) as client:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name
