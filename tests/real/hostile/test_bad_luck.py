"""Full disks, clocks that jump, jobs that come faster than they are forgotten: nobody else is harmed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-5")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[list[RotaServer]]:
    """Where servers of a test are put, to be removed."""
    made: list[RotaServer] = []
    yield made
    for server in made:
        server.remove()


def test_thousands_of_jobs_are_forgotten_as_soon_as_they_are_to_be(
    tmp_path: Path, home: list[RotaServer]
) -> None:
    server = RotaServer(tmp_path / "rota", environment={"ROTA_SERVER_HISTORY_TTL": "1s"})
    home.append(server)
    server.start()
    [array] = {job.partition(".")[0] for job in server.submit(shell("true", array="0-2999", hold=True))}
    server.client.cancel(array)
    eventually(lambda: not list(server.client.jobs()), "3,000 jobs to be forgotten")
