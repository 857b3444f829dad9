"""An array is one thing to every command, by its number or its name."""

from __future__ import annotations

import pytest

from rota.api.jobs import EfficiencyDocument
from rota.lifecycle.state import Phase
from rota.sdk.errors import Gone
from rota.sdk.job_calls import LogChunk
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW, a_job, an_estimate, over, running
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-3")


@pytest.fixture
def sweep(server: FakeServer) -> FakeServer:
    server.has(
        over(Phase.FAILED, "24.0", name="sweep"),
        running("24.1", name="sweep"),
        *(a_job(f"24.{index}", name="sweep") for index in range(2, 30)),
    )
    return server


@pytest.mark.parametrize("name", ["24", "24.*", "sweep"])
def test_it_is_shown_with_how_many_are_in_which_state(sweep: FakeServer, name: str) -> None:
    lines = rota("show", name).lines
    assert lines[0] == "24 sweep 1 failed, 1 running, 28 waiting"
    states = [line.split() for line in lines[lines.index("") + 1 :]]
    assert states[0] == ["STATE", "JOBS", "WHICH"]
    assert ["failed", "1", "24.0"] in states
    assert any(line[:2] == ["waiting", "28"] and line[-1] == "…" for line in states)


def test_as_data_it_is_the_array(sweep: FakeServer) -> None:
    data = rota("show", "24", "-o", "json").data
    assert data["array"]["elements"]["size"] == 30
    assert data["first"]["failed"] == ["24.0"]


def test_its_jobs_are_read_one_after_the_other(server: FakeServer) -> None:
    server.has(*(over(Phase.SUCCEEDED, f"24.{index}") for index in (10, 9)))
    server.chunks = [[LogChunk(0, "out", NOW, b"nine\n", 1)], [LogChunk(0, "out", NOW, b"ten\n", 1)]]
    result = rota("logs", "24")
    assert (result.code, result.out) == (0, "nine\nten\n")
    assert server.logs_of == ["24.9", "24.10"]


def test_each_line_may_say_whose_it_is(server: FakeServer) -> None:
    server.has(over(Phase.SUCCEEDED, "24.3"))
    server.chunks = [[LogChunk(0, "out", NOW, b"a\n", 1), LogChunk(2, "out", NOW, b"b\n", 1)]]
    [first, second] = rota("logs", "24", "--prefix").lines
    assert first.startswith("[24.3] ")
    assert second.startswith("[24.3/2] ")


@pytest.mark.covers("first-2")
def test_output_that_was_removed_is_an_error(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: object, **fields: object) -> object:
        raise Gone("what job 17 wrote is no longer kept; the job itself still is")

    server.has(over(Phase.SUCCEEDED, "17"))
    monkeypatch.setattr(server, "logs", gone)
    result = rota("logs", "17")
    assert (result.code, result.out) == (3, "")
    assert "no longer kept" in result.err


def test_when_the_next_of_them_starts(server: FakeServer) -> None:
    server.estimates["24"] = an_estimate("24.2")
    assert rota("eta", "24").lines[1].startswith("24.2")


def test_what_all_of_them_used(server: FakeServer) -> None:
    server.efficiencies["24"] = EfficiencyDocument(
        job="24",
        wall_s=10.0,
        cpu_asked_s=10.0,
        cpu_used_s=9.0,
        memory_asked_bytes=0,
        memory_used_bytes=0,
        time_limit_s=None,
    )
    assert rota("eff", "24").lines[1].split() == ["24", "cpu", "9", "s", "10", "s", "90%"]


@pytest.mark.parametrize(
    ("given", "asked"), [("24_3", "24.3"), ("24.3", "24.3"), ("24", "24"), ("24.*", "24")]
)
def test_ids_as_people_write_them(server: FakeServer, given: str, asked: str) -> None:
    rota("cancel", given)
    assert server.asked[0].name == asked


def test_the_limit_counts_it_once(server: FakeServer) -> None:
    server.has(a_job("60"), *(a_job(f"24.{index}") for index in range(30)), a_job("23"))
    result = rota("ls", "--limit", "2")
    assert [line.split()[0] for line in result.lines] == ["JOB", "60", "24"]
    assert "showing the newest 2 jobs" in result.err
