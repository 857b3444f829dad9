"""Each test of the suite once for each backend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.places import PLACES, APod, Place
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.shared import nodes_of_session


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[NodesAccess]:
    with nodes_of_session(tmp_path_factory, worker_id) as found:
        yield found


@pytest.fixture(params=(*PLACES, pytest.param("kubernetes", marks=pytest.mark.pods)))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    place: Place
    if request.param == "kubernetes":
        place = APod(tmp_path, request.getfixturevalue("nodes"))
    else:
        place = PLACES[request.param](tmp_path)
    yield place
    asyncio.run(place.clear())
