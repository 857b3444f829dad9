"""A provider, a server that it is the provider of, and browsers: two that are led by hand, step by step, and
windows of a real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.api.people import Role
from tests.real.browser.browser import Browser, server_of
from tests.real.browser.chromium import Chromium, Window
from tests.real.browser.elsewhere import Elsewhere
from tests.real.conftest import missing
from tests.real.postgres import Missing
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


# -- in a real one


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    try:
        made = Chromium()
    except Missing as error:
        missing(str(error))
    with made:
        yield made


@pytest.fixture(scope="module")
def far_provider() -> Iterator[Provider]:
    """Of another site than the server's."""
    made = Provider("localhost")
    yield made
    made.close()


@pytest.fixture(scope="module")
def far_server(far_provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    """One whose provider is another site, as they are outside of tests."""
    made = server_of(far_provider, tmp_path_factory.mktemp("far"))
    made.client.set_project("vision")
    yield made
    made.remove()


@pytest.fixture
def window(chromium: Chromium, far_server: RotaServer) -> Iterator[Window]:
    """One in which the browser has nothing to complain about."""
    with chromium.window(far_server.url) as made:
        yield made
        assert made.complaints == []


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with Elsewhere() as made:
        yield made
