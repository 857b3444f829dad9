"""`rota wait`: until jobs are over, with a status that says how."""

from __future__ import annotations

import pytest

from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import a_job, an_attempt, detail, over, running
from tests.unit.cli.fake_server import FakeServer

FAILED = detail(over(Phase.FAILED, "18", cause=Cause.TASK_FAILED, exit_code=7), an_attempt(exit_code=7))


def test_until_all_are_over(server: FakeServer) -> None:
    server.has(a_job(), running(), over(Phase.SUCCEEDED))
    server.has(running("19"), over(Phase.SUCCEEDED, "19"))
    result = rota("wait", "17", "19")
    assert (result.code, result.lines) == (0, ["19 (train) succeeded", "17 (train) succeeded"])


def test_by_name(server: FakeServer) -> None:
    server.has(running(name="sim"), running(name="sim"), over(Phase.SUCCEEDED, name="sim"))
    assert rota("wait", "sim", "-o", "name").lines == ["17"]


def test_its_status_is_that_of_the_first_that_failed(server: FakeServer) -> None:
    server.has(over(Phase.SUCCEEDED), FAILED, over(Phase.TIMED_OUT, "19"))
    result = rota("wait", "17", "18", "19")
    assert result.code == 7
    assert "18 (train) failed: exit 7 on n1" in result.lines
    assert rota("wait", "19", "18").code == 124


def test_any(server: FakeServer) -> None:
    server.has(running(), FAILED)
    assert (rota("wait", "--any", "17", "18", "-o", "name").lines) == ["18"]
    assert rota("wait", "--any", "17", "18").code == 7


def test_no_longer_than_allowed(server: FakeServer) -> None:
    server.has(running(), over(Phase.SUCCEEDED, "19"))
    result = rota("wait", "--timeout", "50ms", "17", "19")
    assert (result.code, result.lines) == (124, ["19 (train) succeeded"])
    assert result.err == "rota: still not over after 50ms: 17\n"


def test_an_array_is_over_when_all_its_jobs_are(server: FakeServer) -> None:
    server.has(over(Phase.SUCCEEDED, "24.0"), over(Phase.SUCCEEDED, "24.1"))
    server.has(detail(over(Phase.FAILED, "24.2", cause=Cause.TASK_FAILED, exit_code=3)))
    result = rota("wait", "24")
    assert (result.code, result.lines) == (3, ["24 (train) 1 failed, 2 succeeded"])
    assert rota("wait", "24_1").lines == ["24.1 (train) succeeded"]


def test_as_data(server: FakeServer) -> None:
    server.has(FAILED)
    [one] = rota("wait", "18", "-o", "json").data
    assert one == {"id": "18", "name": "train", "outcome": "failed: exit 7 on n1", "status": 7}


@pytest.mark.covers("ops-3")
def test_unknown_jobs(server: FakeServer) -> None:
    assert rota("wait", "99").code == 3
    assert rota("wait", "--timeout", "soon", "99").code == 1
