"""Jobs over the interface: submitted, listed, shown, changed, read."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import pytest

from rota.api.people import Role
from rota.control.errors import BadInput, Conflict, Unavailable
from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.model.extension import Answer
from rota.store.errors import BadCursor, StoreUnavailable
from tests.unit.server.fake_desk import Service
from tests.unit.server.fake_state import secret_of
from tests.unit.server.problems import assert_problem

ONE_JOB = {"jobs": [{"command": ["true"], "project": "vision"}]}


def test_submitted_jobs_come_back_with_their_ids() -> None:
    service = Service()
    response = service.ask("POST", "/v1/jobs", Role.SUBMITTER, json=ONE_JOB)
    assert response.status_code == 201
    (job,) = response.json()["jobs"]
    assert (job["id"], job["project"], job["user"], job["command"]) == ("101", "vision", "ada", "true")
    assert service.desk.changes == [("submit", "ada", 1)]


def test_the_project_is_the_tokens_unless_another_is_named() -> None:
    response = Service().ask("POST", "/v1/jobs", Role.SUBMITTER, json={"jobs": [{"command": "true"}]})
    assert response.json()["jobs"][0]["project"] == "vision"


def test_a_dry_run_changes_nothing() -> None:
    service = Service()
    response = service.ask("POST", "/v1/jobs?dry_run=true", Role.SUBMITTER, json=ONE_JOB)
    assert (response.status_code, response.json()["dry_run"]) == (200, True)
    assert not service.desk.changes


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("field, value", [("project", "secret"), ("user", "eve")])
def test_nobody_submits_for_others(field: str, value: str) -> None:
    service = Service()
    body = {"jobs": [ONE_JOB["jobs"][0], {**ONE_JOB["jobs"][0], field: value}]}
    problem = assert_problem(service.ask("POST", "/v1/jobs", Role.SUBMITTER, json=body), 403, "forbidden")
    assert problem["field"] == f"jobs[1].{field}"
    assert not service.desk.changes


def test_operators_submit_for_others() -> None:
    body = {"jobs": [{"command": "true", "project": "secret", "user": "eve"}]}
    assert Service().ask("POST", "/v1/jobs", Role.OPERATOR, json=body).status_code == 201


@pytest.mark.covers("ops-3")
def test_what_is_wrong_with_a_job_names_its_field() -> None:
    body = {"jobs": [{"command": "true"}, {"command": "true", "resources": {"cpu": -1}}]}
    problem = assert_problem(Service().ask("POST", "/v1/jobs", json=body), 422, "bad-input")
    assert problem["field"] == "jobs[1].resources.cpu"


@pytest.mark.covers("ops-3")
def test_a_request_has_so_many_jobs() -> None:
    service = Service()
    response = service.ask("POST", "/v1/jobs", json={"jobs": [{"command": "true"}] * 1001})
    assert assert_problem(response, 422, "bad-input")["field"] == "jobs"
    assert service.ask("POST", "/v1/jobs", json={"jobs": [{"command": "true"}] * 1000}).status_code == 201
    assert service.desk.changes == [("submit", "ada", 1000)]


@pytest.mark.parametrize(
    "error, status, kind",
    [
        (Conflict("the queue is closed", "wait"), 409, "conflict"),
        (BadInput("jobs[0].queue", "no such queue", "choose another"), 422, "bad-input"),
        (Unavailable("the disk is full"), 503, "unavailable"),
        (StoreUnavailable("no space left in /secret/place"), 503, "unavailable"),
        (BadCursor("x"), 422, "bad-input"),
    ],
)
def test_what_the_desk_refuses_is_told(error: Exception, status: int, kind: str) -> None:
    service = Service()
    service.desk.error = error
    response = service.ask("POST", "/v1/jobs", json=ONE_JOB)
    assert_problem(response, status, kind)
    assert "/secret/place" not in response.text


def test_a_list_shows_only_what_the_token_is_for() -> None:
    service = Service()
    page = service.ask("GET", "/v1/jobs", Role.VIEWER).json()
    assert [job["id"] for job in page["items"]] == ["18.1", "18.0", "17"]
    assert page["items"][0]["array"] == "18"
    everything = service.ask("GET", "/v1/jobs", Role.OPERATOR).json()
    assert len(everything["items"]) == 5
    assert service.ask("GET", "/v1/jobs?project=secret", Role.VIEWER).json()["items"] == []


def test_filters_reach_the_desk() -> None:
    service = Service()
    query = "user=ada&queue=q&phase=pending,running&name=n&label=a=b,c=&array=18&limit=1"
    response = service.ask("GET", f"/v1/jobs?{query}&submitted_after=1&submitted_before=1970-01-01T00:00:02Z")
    wanted = service.desk.job_filter
    assert response.json()["next"] == "18.1"
    assert (wanted.users, wanted.queues, wanted.name, wanted.array) == (("ada",), ("q",), "n", 18)
    assert wanted.phases == (Phase.PENDING, Phase.RUNNING)
    assert wanted.labels == (("a", "b"), ("c", ""))
    assert (wanted.submitted_from_ms, wanted.submitted_before_ms) == (1000, 2000)


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "query, field",
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=1e400", "limit"),
        ("limit=many", "limit"),
        ("limit=99999999999999999999999", "limit"),
        ("phase=asleep", "phase"),
        ("label=x", "label"),
        ("array=-1", "array"),
        ("submitted_after=yesterday", "submitted_after"),
        ("submitted_before=1e300", "submitted_before"),
        (f"name={'x' * 2000}", "name"),
    ],
)
def test_bad_filters_name_themselves(query: str, field: str) -> None:
    problem = assert_problem(Service().ask("GET", f"/v1/jobs?{query}"), 422, "bad-input")
    assert problem["field"] == field


def test_a_job_is_shown_with_all_there_is_to_know() -> None:
    service = Service()
    detail = service.ask("GET", "/v1/jobs/17", Role.VIEWER).json()
    assert detail["job"]["command"] == "echo 'hello world'"
    assert detail["spec"]["command"] == ["echo", "hello world"]
    assert detail["attempts"][0]["cpu_s"] == 5
    assert detail["estimate"]["position"] == 3


@pytest.mark.parametrize(
    "fields, exit_code",
    [
        ({"phase": Phase.RUNNING}, None),
        ({"phase": Phase.SUCCEEDED, "last_end": TaskEnd(EndReason.EXITED, exit_code=1)}, 0),
        ({"phase": Phase.FAILED, "last_end": TaskEnd(EndReason.EXITED, exit_code=7)}, 7),
        ({"phase": Phase.CANCELLED}, None),
    ],
)
def test_the_exit_code_is_that_of_a_job_that_is_over(
    fields: dict[str, object], exit_code: int | None
) -> None:
    service = Service()
    service.desk.end("17", **fields)
    assert service.ask("GET", "/v1/jobs/17").json()["job"]["exit_code"] == exit_code


@pytest.mark.parametrize("action", ["cancel", "hold", "release"])
def test_an_array_is_changed_as_a_whole(action: str) -> None:
    service = Service()
    tried = service.ask("POST", f"/v1/jobs/18/{action}?dry_run=1", Role.SUBMITTER).json()
    assert (tried["dry_run"], service.desk.changes) == (True, [])
    answer = service.ask("POST", f"/v1/jobs/18/{action}", Role.SUBMITTER).json()
    assert (answer["dry_run"], answer["changed"]) == (False, ["18.0", "18.1"])
    assert service.desk.changes[0][:2] == (action, "18")


@pytest.mark.parametrize("text, limit_ms", [("4h", 14_400_000), ("+1h", 7_200_000), (90, 90_000)])
def test_a_limit_is_extended_to_or_by(text: str | int, limit_ms: int) -> None:
    service = Service()
    response = service.ask("POST", "/v1/jobs/17/extend", json={"time_limit": text})
    assert response.json()["extension"]["granted"] is True
    assert service.desk.changes == [("extend", "17", limit_ms)]


def test_a_refused_extension_says_what_would_be_granted() -> None:
    service = Service()
    service.desk.extension = Answer.IN_THE_WAY
    response = service.ask("POST", "/v1/jobs/17/extend", json={"time_limit": "4h"})
    problem = assert_problem(response, 409, "conflict")
    assert problem["data"]["extension"]["longest"] == "1h23m20s"
    assert problem["data"]["extension"]["answer"] == "in the way"


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("text", ["", "+", "-1h", "0", "+0s", "soon", "9" * 400, "++1h"])
def test_limits_that_are_none_are_refused(text: str) -> None:
    service = Service()
    response = service.ask("POST", "/v1/jobs/17/extend", json={"time_limit": text})
    assert assert_problem(response, 422, "bad-input")["field"] == "time_limit"
    assert not service.desk.changes


def test_questions_are_answered() -> None:
    service = Service()
    why = service.ask("GET", "/v1/jobs/17/why?rank=0").json()
    assert (why["why"]["outcome"], why["why"]["task_of"]["kind"], list(why)) == ("waiting", "job", ["why"])
    assert service.ask("GET", "/v1/jobs/17/eta").json()["reason"] == "nothing is known"
    used = service.ask("GET", "/v1/jobs/17/eff").json()
    assert (used["wall_s"], used["cpu_asked_s"], used["cpu_used_s"]) == (10, 20, 5)
    assert service.ask("POST", "/v1/plan", json=ONE_JOB).json() == {
        "jobs": [],
        "changes": [],
        "others_changed": 0,
    }
    assert not service.desk.changes


def test_a_rank_that_the_job_does_not_have_is_refused() -> None:
    problem = assert_problem(Service().ask("GET", "/v1/jobs/17/why?rank=1"), 422, "bad-input")
    assert problem["field"] == "rank"


@pytest.mark.covers("job-4")
def test_logs_are_the_bytes_or_lines_that_say_whose() -> None:
    service = Service()
    raw = service.ask("GET", "/v1/jobs/17/logs?rank=1,0,1&since=5&tail=100&follow=true")
    assert (raw.content, raw.headers["content-type"]) == (b"one\n\xff\0", "application/octet-stream")
    asked = service.desk.log_query
    assert asked is not None
    assert (asked.ranks, asked.since_ms, asked.tail_bytes, asked.follow) == ((0, 1), 5000, 100, True)
    lines = service.ask("GET", "/v1/jobs/17/logs?form=chunks")
    assert lines.headers["content-type"] == "application/x-ndjson"
    first, last = (json.loads(line) for line in lines.text.splitlines())
    assert (first["rank"], first["stream"], first["fence"]) == (0, "out", 1)
    assert base64.b64decode(last["data"]) == b"\xff\0"


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "query",
    ["rank=x", "rank=-1", "rank=1,,2", "rank=²", "since=x", "tail=-1", "tail=1e99", "form=xml", "follow=2"],
)
def test_bad_questions_to_logs_name_themselves(query: str) -> None:
    problem = assert_problem(Service().ask("GET", f"/v1/jobs/17/logs?{query}"), 422, "bad-input")
    assert problem["field"] == query.partition("=")[0]


def test_declared_outputs_are_read_and_nothing_else() -> None:
    service = Service()
    assert service.ask("GET", "/v1/jobs/17/outputs/result.txt").content == b"42"
    assert_problem(service.ask("GET", "/v1/jobs/17/outputs/deep/er.txt"), 404, "not-found")
    assert_problem(service.ask("GET", "/v1/jobs/17/outputs/other.txt"), 404, "not-found")
    assert_problem(service.ask("GET", "/v1/jobs/17/outputs/a/..%2f..%2fb"), 422, "bad-input")


@pytest.mark.covers("job-2")
def test_a_file_is_kept_if_its_hash_is_right() -> None:
    service = Service()
    content = b"x" * (2 * 2**20)
    path = f"/v1/files/{sha256(content).hexdigest()}"
    assert service.ask("PUT", path, Role.SUBMITTER, content=content).status_code == 201
    assert service.ask("PUT", path, Role.SUBMITTER, content=content).status_code == 200
    problem = assert_problem(service.ask("PUT", f"/v1/files/{'0' * 64}", content=content), 422, "bad-input")
    assert problem["field"] == "sha256"
    assert list(service.desk.files.values()) == [content]


KEY = {"idempotency-key": "0b1c"}


class TestIdempotency:
    def test_the_same_request_is_carried_out_once(self) -> None:
        service = Service()
        first = service.ask("POST", "/v1/jobs", json=ONE_JOB, headers=KEY)
        again = service.ask("POST", "/v1/jobs", json=ONE_JOB, headers=KEY)
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotency-replayed"] == "true"
        assert len(service.desk.changes) == 1

    def test_another_request_with_the_key_is_refused(self) -> None:
        service = Service()
        service.ask("POST", "/v1/jobs", json=ONE_JOB, headers=KEY)
        other = {"jobs": [{"command": "false"}]}
        assert_problem(service.ask("POST", "/v1/jobs", json=other, headers=KEY), 422, "key-reused")
        assert_problem(service.ask("POST", "/v1/jobs/17/hold", headers=KEY), 422, "key-reused")
        assert len(service.desk.changes) == 1

    def test_keys_are_a_users_own(self) -> None:
        service = Service()
        service.ask("POST", "/v1/tokens", "eve", json={"role": "viewer"}, headers=KEY)
        service.ask("POST", "/v1/tokens", Role.VIEWER, json={"role": "viewer"}, headers=KEY)
        assert len(service.desk.changes) == 2

    def test_a_dry_run_leaves_the_key_unused(self) -> None:
        service = Service()
        service.ask("POST", "/v1/jobs?dry_run=true", json=ONE_JOB, headers=KEY)
        assert not service.desk.answers

    def test_a_secret_is_not_kept_for_a_key(self) -> None:
        service = Service()
        first = service.ask("POST", "/v1/tokens", json={"role": "viewer"}, headers=KEY).json()
        again = service.ask("POST", "/v1/tokens", json={"role": "viewer"}, headers=KEY).json()
        assert first["secret"].startswith("rota_")
        assert len(first["secret"]) == len(secret_of("x"))
        assert again == {**first, "secret": None}

    @pytest.mark.parametrize("key", ["", "x" * 201, "\x7f"])
    def test_keys_that_are_none_are_refused(self, key: str) -> None:
        service = Service()
        response = service.ask("POST", "/v1/jobs/17/hold", headers={"idempotency-key": key})
        assert assert_problem(response, 422, "bad-input")["field"] == "Idempotency-Key"
        assert not service.desk.changes


def test_events_are_listed_by_page() -> None:
    service = Service()
    page = service.ask("GET", "/v1/events?after=1&limit=1&kind=job.Started&subject=17", Role.VIEWER).json()
    assert ([one["seq"] for one in page["items"]], page["next"]) == ([2], "2")
    assert page["items"][0]["data"] == {"rank": 0}
    assert service.desk.event_filter.projects == ("vision",)
    assert service.ask("GET", "/v1/events?after=2").json()["next"] is None


def test_the_latest_events_come_in_their_order() -> None:
    service = Service()
    page = service.ask("GET", "/v1/events?last=2&kind=job.Started").json()
    assert ([one["seq"] for one in page["items"]], page["next"]) == ([2, 3], None)


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("last=0", "last"),
        ("last=1001", "last"),
        ("last=x", "last"),
        ("last=2&after=1", "last"),
        ("last=2&limit=1", "limit"),
    ],
)
def test_latest_events_that_nobody_can_mean(query: str, field: str) -> None:
    problem = assert_problem(Service().ask("GET", f"/v1/events?{query}"), 422, "bad-input")
    assert problem["field"] == field
    assert problem["help"]
