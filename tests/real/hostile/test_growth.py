"""Jobs that were made to be costly: the server goes on answering, whatever they are made of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.sdk.errors import BadInput
from tests.real.server.rota_server import RotaServer, shell

pytestmark = pytest.mark.covers("trust-1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    made = RotaServer(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.remove()


def many(count: int) -> list[dict[str, object]]:
    return [{"tasks": 1, "resources": {"cpu": "1m", "memory": f"{at + 1}Ki"}} for at in range(count)]


@pytest.mark.parametrize("count", [160, 5000])
def test_too_many_groups_are_refused_by_name(server: RotaServer, count: int) -> None:
    with pytest.raises(BadInput) as caught:
        server.client.submit(shell("true", groups=many(count)), dry_run=True)
    assert caught.value.field == "jobs[0].groups"


def test_as_many_groups_as_may_be_wait_without_holding_up_others(server: RotaServer) -> None:
    """The largest that is taken, behind something that takes all: each cycle asks it again."""
    cpus = sum(node.capacity["cpu"] for node in server.client.nodes())
    [large] = server.client.submit(shell("sleep 60", resources={"cpu": cpus})).jobs
    try:
        [costly] = server.client.submit(shell("true", groups=many(64))).jobs
        for _ in range(5):
            [small] = server.client.submit(shell("true", resources={"cpu": "1m"})).jobs
            assert server.client.job(small.id).job.id == small.id
        assert server.client.why(costly.id).why.job == costly.id
        server.client.cancel(costly.id)
    finally:
        server.client.cancel(large.id)
