"""Arrays by their number, and what isn't there, over the interface."""

from __future__ import annotations

import pytest

from rota.api.people import Role
from rota.lifecycle.state import Phase
from tests.unit.server.fake_desk import Service
from tests.unit.server.fake_state import NOW_MS
from tests.unit.server.problems import assert_problem

pytestmark = pytest.mark.covers("first-3")


def test_an_array_is_shown_as_one_thing() -> None:
    service = Service()
    service.desk.end("18.1", phase=Phase.FAILED, ended_ms=NOW_MS)
    shown = service.ask("GET", "/v1/arrays/18", Role.VIEWER).json()
    assert shown["array"]["id"] == "18"
    assert shown["array"]["elements"] == {
        "size": 2,
        "phases": {"pending": 1, "failed": 1},
        "at_once": None,
    }
    assert shown["first"] == {"pending": ["18.0"], "failed": ["18.1"]}
    assert shown["estimate"]["job"] == "18.0"
    assert "array" not in shown["spec"]


def test_a_list_has_an_array_once() -> None:
    items = Service().ask("GET", "/v1/jobs?fold=true", Role.VIEWER).json()["items"]
    assert [(one["id"], (one["elements"] or {}).get("size")) for one in items] == [("18", 2), ("17", None)]


def test_those_that_wait_say_why() -> None:
    items = Service().ask("GET", "/v1/jobs", Role.VIEWER).json()["items"]
    assert {one["reason"] for one in items} == {"the queue is paused"}


@pytest.mark.parametrize("question", ["why", "eta"])
def test_questions_about_an_array_are_about_the_first_that_waits(question: str) -> None:
    service = Service()
    service.desk.end("18.0", phase=Phase.SUCCEEDED, ended_ms=NOW_MS)
    answer = service.ask("GET", f"/v1/jobs/18/{question}", Role.VIEWER)
    assert answer.status_code == 200
    assert "18.1" in answer.text


def test_what_an_array_used_is_what_all_its_jobs_used() -> None:
    used = Service().ask("GET", "/v1/jobs/18/eff", Role.VIEWER).json()
    assert (used["job"], used["wall_s"], used["cpu_used_s"]) == ("18", 20.0, 10.0)


@pytest.mark.parametrize("path", ["/v1/jobs/18", "/v1/jobs/18/logs"])
def test_what_is_about_a_single_job_says_that_it_is_an_array(path: str) -> None:
    problem = assert_problem(Service().ask("GET", path, Role.VIEWER), 404, "not-found")
    assert problem["data"] == {"array": "18"}
    assert problem["detail"] == "18 is an array of jobs, and this is about a single one"


@pytest.mark.parametrize(
    "number, status, kind",
    [("20", 403, "not-yours"), ("17", 404, "not-found"), ("5", 410, "gone"), ("x", 422, "bad-input")],
)
def test_arrays_that_are_not_there(number: str, status: int, kind: str) -> None:
    service = Service()
    service.desk.removed.add("5")
    assert_problem(service.ask("GET", f"/v1/arrays/{number}", Role.VIEWER), status, kind)


def test_slurms_way_to_write_an_element_is_understood() -> None:
    assert Service().ask("GET", "/v1/jobs/18_1", Role.VIEWER).json()["job"]["id"] == "18.1"


@pytest.mark.covers("first-2")
def test_output_that_was_removed_is_not_taken_for_no_output() -> None:
    service = Service()
    service.desk.silenced.add("17")
    for path in ("/v1/jobs/17/logs", "/v1/jobs/17/outputs", "/v1/jobs/17/outputs/deep/er.txt"):
        problem = assert_problem(service.ask("GET", path, Role.VIEWER), 410, "gone")
        assert "no longer kept; the job itself still is" in problem["detail"]
