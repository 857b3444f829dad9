"""Jobs by name: the one that is meant, or a question back."""

from __future__ import annotations

import pytest

from rota.api.jobs import JobDocument
from rota.cli.client.job_names import job_named
from rota.lifecycle.state import Phase
from rota.sdk.errors import NotFound, RotaError
from tests.unit.cli.documents import a_job, detail
from tests.unit.cli.fake_server import FakeServer


def listed(server: FakeServer, *jobs: JobDocument) -> None:
    server.details = {job.id: [detail(job)] for job in jobs}


def test_an_id_is_an_id(server: FakeServer) -> None:
    assert job_named(server, "17.3") == "17.3"


def test_the_unfinished_one_of_that_name_is_meant(server: FakeServer) -> None:
    listed(
        server, a_job("9", name="train", phase=Phase.FAILED), a_job("8", name="train", phase=Phase.RUNNING)
    )
    assert job_named(server, "train") == "8"


def test_several_are_a_question(server: FakeServer) -> None:
    listed(server, a_job("9", name="train"), a_job("8", name="train"))
    with pytest.raises(RotaError, match="2 jobs named"):
        job_named(server, "train")


def test_of_those_that_are_over_the_latest(server: FakeServer) -> None:
    listed(server, a_job("9", name="train", phase=Phase.FAILED), a_job("8", name="train", phase=Phase.FAILED))
    assert job_named(server, "train") == "9"


def test_an_array_has_one_name(server: FakeServer) -> None:
    listed(server, *(a_job(f"7.{index}", name="sweep") for index in range(3)))
    assert job_named(server, "sweep") == "7"


def test_nobody_has_that_name(server: FakeServer) -> None:
    listed(server)
    with pytest.raises(NotFound, match='no job named "train"'):
        job_named(server, "train")
