"""Servers for the tests: one that they share, and ones of their own for those that stop it or set it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rota.sdk.errors import Conflict
from tests.real.server.rota_server import RotaServer, eventually

POLICY = """
queues:
  - {name: default}
  - {name: desk, interactive: true, order: -1}
  - {name: side}
"""

NewServer = Callable[..., RotaServer]


@pytest.fixture(scope="session")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory, policy_file: Path) -> Iterator[RotaServer]:
    server = RotaServer(tmp_path_factory.mktemp("rota"), "--policy", str(policy_file))
    server.start()
    yield server
    server.remove()


@pytest.fixture
def server(_shared: RotaServer) -> Iterator[RotaServer]:
    """One that many tests use, one after the other. What a test leaves of jobs is cancelled."""
    yield _shared
    for job in _shared.unfinished():
        with suppress(Conflict):  # It ended by itself meanwhile.
            _shared.client.cancel(job.id)
    eventually(lambda: not any(_shared.unfinished()), "all jobs to end")


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[NewServer]:
    """Makes servers that are the test's alone, started."""
    made: list[RotaServer] = []

    def make(*flags: str, name: str = "rota") -> RotaServer:
        server = RotaServer(tmp_path / name, *flags)
        made.append(server)
        server.start()
        return server

    yield make
    for server in made:
        server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store(request: pytest.FixtureRequest, new_server: NewServer) -> RotaServer:
    """A server of the test's own, over each kind of database."""
    if request.param == "sqlite":
        return new_server()
    return new_server("--database", request.getfixturevalue("postgres_url"))
