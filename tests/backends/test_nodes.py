"""Where a backend's tasks can run, what that costs, and whether all is well there."""

from __future__ import annotations

import pytest

from rota.model.ids import NodeName
from tests.backends.places import Place, opened

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2")]


async def test_nodes_have_a_name_of_their_own_and_something_to_give(place: Place) -> None:
    async with opened(place) as here:
        nodes = await here.backend.nodes()
        names = [node.name for node in nodes]
        assert place.node in names
        assert len(set(names)) == len(names)
        for node in nodes:
            assert node.spec.backend == here.backend.name
            assert node.spec.capacity.cpu_milli > 0
            assert node.spec.capacity.memory_bytes > 0
            assert node.spec.capacity.slots > 0


async def test_a_node_is_found_by_its_name(place: Place) -> None:
    async with opened(place) as here:
        for listed in await here.backend.nodes():
            node = await here.backend.node(listed.name)
            assert node is not None
            assert (node.name, node.spec) == (listed.name, listed.spec)
        assert await here.backend.node(NodeName("no-such-node")) is None


async def test_the_price_of_a_node_is_known(place: Place) -> None:
    async with opened(place) as here:
        node = await here.backend.node(place.node)
        assert node is not None
        assert node.spec.price_micro_per_hour == place.price_micro_per_hour > 0


async def test_a_backend_that_works_is_healthy(place: Place) -> None:
    async with opened(place) as here:
        health = await here.backend.health()
        assert health.healthy, health.message
