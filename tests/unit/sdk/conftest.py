"""A server to talk to, and clients that know it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.sdk.client import Client
from rota.sdk.patience import Retries
from tests.unit.sdk.stand_in import TOKEN, StandIn


@pytest.fixture(autouse=True)
def nobody_s_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither those of whoever runs the tests, nor of a server on this machine."""
    for name in ("ROTA_URL", "ROTA_TOKEN", "ROTA_CONTEXT", "ROTA_CA", "ROTA_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
def client(server: StandIn) -> Iterator[Client]:
    with Client(server.url, TOKEN, retries=Retries(4, 0.001), stream_retries=Retries(4, 0.001)) as connected:
        yield connected
