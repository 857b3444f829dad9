"""A provider, a server that it is the provider of, and two browsers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.api.people import Role
from tests.real.browser.browser import Browser, server_of
from tests.real.server.oidc_provider import Provider
from tests.real.server.rota_server import RotaServer


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    made = server_of(provider, tmp_path_factory.mktemp("browser"))
    made.client.set_project("vision")
    made.client.set_project("speech", members={"cora": Role.VIEWER})
    yield made
    made.remove()


@pytest.fixture
def browser(server: RotaServer) -> Iterator[Browser]:
    with Browser(server) as made:
        yield made


@pytest.fixture
def other(server: RotaServer) -> Iterator[Browser]:
    with Browser(server) as made:
        yield made
